"""Nodes of the dependence graph and the values that flow between them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.isa.model import Place, Unit

from .micro import MicroMove, MicroOp, Virtual
from .needs import Needs

NOT_PLACED = -1
Lane = tuple[Unit, int]
"""Ready nodes wait in lanes: the unit, and the transfer classes that hazards can block as a whole."""


@dataclass(slots=True, eq=False)
class Value:
    """A virtual register at scheduling time.

    `words` is what one register block takes; `later` the steps from the producer until it can be read from a
    register (isa.md H1). `uses` counts the reads that are still to be placed, `avoid` how many of the readers need
    the read port of GRF0 and GRF1 for a physical operand.

    Once produced, `held` has a bit for each file in which a block at `base` is reserved, `bound` for each whose write
    port in the producer's step is taken, `read` for each that something reads: only these are written.
    `replicated`: wanted in both files. `keys`: what the read ports of the two files are occupied with by its readers.
    """

    virtual: Virtual
    path: Place
    words: int
    later: int
    uses: int = 0
    avoid: list[int] = field(default_factory=lambda: [0, 0])
    time: int = NOT_PLACED
    held: int = 0
    bound: int = 0
    read: int = 0
    replicated: bool = False
    base: list[int] = field(default_factory=lambda: [0, 0])
    keys: list[object] = field(default_factory=lambda: [None, None])


Use = tuple[int, Value, Virtual, bool]
"""Position of a source, its value, how it is read, whether the operand may be the value's forwarding path."""


@dataclass(slots=True, eq=False)
class Node:
    """An operation, a move, or a join (neither): done when all its predecessors are.

    `order` is the position in the emission; `earliest` the first step that all placed predecessors allow; `missing`
    the number of predecessors not placed; `blockers` the moves that have to be waited for first; `follower` is an
    operation that must stand in the very next step (turnaround register).
    """

    order: int
    micro: MicroOp | None = None
    move: MicroMove | None = None
    needs: Needs | None = None
    lane: Lane | None = None
    value: Value | None = None
    uses: list[Use] = field(default_factory=list)
    classes: int = 0
    successors: list[tuple[Node, int]] = field(default_factory=list)
    missing: int = 0
    earliest: int = 0
    height: int = 0
    key: int = 0
    registers: int = 0
    """Registers that it reads unless it gets some of its values forwarded."""
    blockers: dict[Node, None] = field(default_factory=dict)
    blocked: list[Node] = field(default_factory=list)
    follower: Node | None = None
    follows: bool = False
    time: int = NOT_PLACED
