"""What the layout planner decides: in which layouts tensors are loaded, moved, computed and stored.

A plan is a list of actions in order. Tensors may exist in several layouts at once; (tensor, layout) names a copy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pfcomp.ir.model import MNNode
from pfcomp.kernels.api import Binding
from pfcomp.layout import Layout


@dataclass(frozen=True, slots=True)
class Load:
    """Bring an input, state or constant from DRAM; `layout` is that of its image as well."""

    tensor: str
    layout: Layout


@dataclass(frozen=True, slots=True)
class Relay:
    """Make a copy of a tensor in another layout."""

    tensor: str
    source: Layout
    target: Layout


@dataclass(frozen=True, slots=True)
class Rename:
    """The result of a rearrangement is its operand read differently, `offset` long words behind its base."""

    node: MNNode
    source: Layout
    target: Layout
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Rearrange:
    """Move elements: operands in `sources`, the result in `target`."""

    node: MNNode
    sources: tuple[Layout, ...]
    target: Layout


@dataclass(frozen=True, slots=True)
class Compute:
    """Run a kernel; `operands` are the names that the layouts of the binding's inputs belong to."""

    node: MNNode
    binding: Binding
    operands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """Write an output to DRAM; `layout` is that of its image as well."""

    tensor: str
    layout: Layout


Action: TypeAlias = Load | Relay | Rename | Rearrange | Compute | Store
