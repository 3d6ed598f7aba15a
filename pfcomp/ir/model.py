"""MNGraph: the compiler's own graph, in which every value has a dtype, a layout, a location and an address.

A node's meaning is its ONNX op (design.md law 5) except for the moves `Download` (DRAM to LM) and `Upload` (LM to
DRAM), which the location planner inserts. Values and nodes are immutable; a pass returns a new graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pfcomp.layout import Layout


class DType(StrEnum):
    """Element types on the device, by the names that `dump_gpfnapp` prints."""

    HALF = "Half"
    FLOAT = "Float"
    DOUBLE = "Double"
    INT = "Int"
    LONG = "Long"
    BOOL = "Bool"

    @property
    def bits(self) -> int:
        """Size of an element in LM and DRAM; Bool is kept as a 32-bit word."""
        return {"Half": 16, "Float": 32, "Double": 64, "Int": 32, "Long": 64, "Bool": 32}[self.value]


class Location(StrEnum):
    """Where a value lives between nodes; GRF, L1BM and L2BM are only used inside a node."""

    DRAM = "DRAM"
    LM0 = "LM0"
    LM1 = "LM1"


LM_WORDS = 2048
"""Long words of LM0 and of LM1 in every PE (isa.md 3)."""


@dataclass(frozen=True, slots=True)
class MNValue:
    """A tensor on the device.

    `address` and `size` are in long words: per PE for LM0 and LM1, per group for DRAM (where `size` is Z of the
    DRAM image, a multiple of 16). `torch_dtype` is the host's name of the element type.
    """

    name: str
    shape: tuple[int, ...]
    dtype: DType
    layout: Layout
    location: Location
    address: int | None = None
    size: int = 0
    torch_dtype: str = "Float"


@dataclass(frozen=True, slots=True)
class MNNode:
    """An operation on named values; `source` is the user's line as `file.py:12`, "" if unknown.

    A `Fused` node has a `body` of element-wise nodes in order: the body's values that are not among the node's outputs
    exist only in registers, one vector (four long words per PE) at a time.
    """

    name: str
    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: tuple[tuple[str, int | float | str | tuple[int, ...]], ...] = ()
    source: str = ""
    body: tuple[MNNode, ...] = ()


@dataclass(frozen=True, slots=True)
class MNGraph:
    """Nodes in execution order.

    `states` are tensors that stay on the device between calls; the output `<state>:out` is a state's next value.
    `constants` names the DRAM values whose contents are part of the app; `immediates` has name, element type and bit
    pattern of one-element constants: they live in the instruction stream. `inner` has the element types of values that
    exist only inside fused bodies.
    """

    values: dict[str, MNValue]
    nodes: tuple[MNNode, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: tuple[str, ...] = ()
    immediates: tuple[tuple[str, DType, int], ...] = ()
    states: tuple[str, ...] = ()
    inner: tuple[tuple[str, DType], ...] = ()
