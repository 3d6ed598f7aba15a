"""Micro-operations: what kernels emit and the packer schedules.

A micro-program has *sequential meaning*: every operation completes before the next one begins. It holds no nops, no
waits, no tags and no registers for intermediate values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pfcomp.errors import InternalError
from pfcomp.isa.model import Move, Op, Operand, Place


def bad_operation(what: str) -> InternalError:
    """The error for something that a kernel must not emit."""
    return InternalError("PF0150", what, hint="correct the kernel that emits it")


PLACEHOLDER = Place.MAUF
"""Stands for a virtual value in `MicroOp.op`: accepted wherever any value is."""


@dataclass(frozen=True, slots=True)
class Virtual:
    """A value in a virtual register: for each PE and cycle `width` words (2 or 4).

    `uniform`: the same in all four cycles. `negate` and `suffix` say how one operand reads it. Words beyond `width`
    are not part of the value. `index` is -1 for operations that have no result.
    """

    index: int
    width: int = 2
    uniform: bool = False
    negate: bool = False
    suffix: str = ""


def neg(value: Virtual) -> Virtual:
    """The value with its sign flipped, for MAU operands."""
    return replace(value, negate=not value.negate)


def widened(value: Virtual) -> Virtual:
    """The value read as one precision lower (`e`, isa.md 10)."""
    return replace(value, suffix="e")


def narrowed(value: Virtual) -> Virtual:
    """The four singles of the value, read as halves (`r`, isa.md 9.1)."""
    return replace(value, suffix="r")


@dataclass(frozen=True, slots=True)
class NodeInfo:
    """Where operations come from: graph node, its operator, its source line."""

    name: str
    op: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class MicroOp:
    """One operation.

    `op` has its physical destinations only and `$mauf` wherever a virtual value is read; `uses` gives these by
    position in `op.sources`. `result` is the value that later operations may use, `node` an index into
    `MicroProgram.nodes` (-1: none).
    """

    op: Op
    uses: tuple[tuple[int, Virtual], ...]
    result: Virtual | None
    node: int


@dataclass(frozen=True, slots=True)
class MicroMove:
    """An MV without tag; `index` counts the emitted moves."""

    move: Move
    index: int
    node: int


@dataclass(frozen=True, slots=True)
class MicroProgram:
    """Operations and moves in emission order; `virtuals` values exist."""

    ops: tuple[MicroOp | MicroMove, ...]
    nodes: tuple[NodeInfo, ...]
    virtuals: int


def placeholder(value: Virtual) -> Operand:
    """The operand that stands for `value` in `MicroOp.op`."""
    return Operand(PLACEHOLDER, 4, None, value.negate, value.suffix)
