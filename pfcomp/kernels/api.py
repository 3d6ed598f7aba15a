"""What the planner and the kernels agree on: jobs, bindings of layouts, scratch, tables, and the emission context.

A kernel proposes `Binding`s for a `Job`: layouts in which it takes its operands and leaves its results, with an
estimate of steps. The planner chooses one, brings the operands there, places everything in local memory and calls
`emit` with the placed values. Schedules are stored as text, so a kernel must be able to emit from the job, the layouts
and the `variant` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.kernels.transfer import TransferContext
from pfcomp.layout import Layout

Attribute = int | float | str | tuple[int, ...]

MASK_ENTRIES = range(1, 16)
"""The variable entries of the mask register file (isa.md 3.1)."""


@dataclass(frozen=True, slots=True)
class Spec:
    """Shape and device element type of a tensor."""

    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True, slots=True)
class Job:
    """One node as a kernel sees it: operator, attributes, and its operands and results.

    `float_dtype` is the option of that name: float, mixed, half or double; pseudo is float with the option allow_g.
    `wanted` has layouts to which the result will be brought: a hint for `Kernel.bindings`, nothing else depends on it.
    """

    op: str
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()
    float_dtype: str = "mixed"
    wanted: tuple[Layout, ...] = ()

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; KeyError if the node has none."""
        return dict(self.attributes)[name]


@dataclass(frozen=True, slots=True)
class Scratch:
    """Local memory that a kernel needs while it runs: long words per PE, in `location` or in any of the two."""

    words: int
    location: Location | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Table:
    """Constants that a kernel reads from local memory: contents[l2b, l1b, mab, pe, address], uint64 long words.

    An axis of length 1 means that all coordinates of that level hold the same.
    """

    contents: NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Binding:
    """One way to run a job: layouts of operands and results, and an estimate of its steps.

    `variant` tells apart ways with the same layouts. `in_place` names pairs (operand, result) that may share their
    place in local memory, address by address; `overwrites` has those of them for which that saves steps. In `moving` of
    its steps the kernel uses L2BM.
    """

    inputs: tuple[Layout, ...]
    outputs: tuple[Layout, ...]
    steps: int
    variant: str = ""
    scratch: tuple[Scratch, ...] = ()
    tables: tuple[Table, ...] = ()
    in_place: tuple[tuple[int, int], ...] = ()
    overwrites: tuple[tuple[int, int], ...] = ()
    moving: int = 0


@dataclass(slots=True)
class KernelContext(TransferContext):
    """What all kernels of a program share while they emit.

    `padding` has, by value name, the bits that all places without an element are known to hold.
    """

    padding: dict[str, int] = field(default_factory=dict)
    next_mask: int = 0

    def mask(self) -> int:
        """A mask register entry to write next; entries come round robin, the packer keeps their uses in order."""
        self.next_mask = self.next_mask % len(MASK_ENTRIES) + 1
        return self.next_mask


@dataclass(frozen=True, slots=True)
class Placed:
    """The values of a job in local memory, in the order of the binding."""

    inputs: tuple[MNValue, ...]
    outputs: tuple[MNValue, ...]
    scratch: tuple[MNValue, ...] = ()
    tables: tuple[MNValue, ...] = ()


class Kernel(Protocol):
    """A family of operators."""

    def refuse(self, job: Job) -> str:
        """Why the job cannot be done, "" if it can."""

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """Ways to run the job, good ones first; `offered` has the layouts in which each operand exists already."""

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Emit the micro-operations; `binding` has layouts and variant, the rest of it may be empty."""


KernelTable = Mapping[str, Kernel]
"""Kernels by operator."""
