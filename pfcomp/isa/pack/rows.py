"""The reservation table: one row for each step (backend-kernels.md 1.1)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.isa.model import Operand

from .micro import MicroMove
from .needs import GRF_WRITE, MAU_BITS, Needs
from .nodes import Node, Value

PORTS = 6
BOTH = 0b11


@dataclass(slots=True, eq=False)
class Flight:
    """A move that was issued before step `time` under `tag`; `finish` is when it is expected to be done (steps)."""

    node: Node
    micro: MicroMove
    tag: int
    time: int
    finish: int
    waited: bool = False


@dataclass(slots=True, eq=False)
class Row:
    """What a step holds so far.

    `busy`, `ports`: see `Needs`; `forbid`: classes that earlier steps exclude here; `classes`: those present;
    `second`: the operand on the port that vfma, vmul and mwrite share; `pending`: values of this step that are not
    bound to a register file yet, each of which is sure to get a write port; `claimed`: units that the next step must
    give to readers of these results; `moves` are issued before the step.
    """

    busy: int = 0
    forbid: int = 0
    classes: int = 0
    ports: list[object] = field(default_factory=lambda: [None] * PORTS)
    claimed: int = 0
    second: Operand | None = None
    ops: list[tuple[Node, tuple[Operand, ...]]] = field(default_factory=list)
    pending: list[Value] = field(default_factory=list)
    moves: list[Flight] = field(default_factory=list)
    wait: Flight | None = None

    def fits(self, needs: Needs) -> bool:
        """True if the fixed needs of an operation are free."""
        if self.busy & needs.busy or self.forbid & needs.classes:
            return False
        for port, key in needs.ports:
            taken = self.ports[port]
            if taken is not None and taken != key:
                return False
        return not needs.mau or (self.busy & MAU_BITS).bit_count() < 2

    def free_writes(self, busy: int) -> int:
        """Register files whose write port is free in this row and not in `busy`: bit 0 GRF0, bit 1 GRF1."""
        taken = self.busy | busy
        return (not taken & GRF_WRITE[0]) | (not taken & GRF_WRITE[1]) << 1


def assignable(wants: list[int]) -> bool:
    """True if every entry, a set of register files, can have a file of its own."""
    if not all(wants):
        return False
    if len(wants) == 2:
        return wants[0] | wants[1] == BOTH
    return len(wants) < 2
