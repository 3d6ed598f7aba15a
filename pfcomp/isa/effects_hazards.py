"""Issue classes and minimum distances between them (isa.md 17): one table for the checker and the packer.

*gap* is the number of steps strictly between producer and consumer, as in isa.md; *distance* = gap + 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag, auto


class Issue(IntFlag):
    """What an operation does to the ports that hazards are about."""

    NONE = 0
    LM0_READ = auto()
    LM0_WRITE = auto()
    LM1_READ = auto()
    LM1_WRITE = auto()
    BAR0_WRITE = auto()
    BAR1_WRITE = auto()
    L1BM_UP = auto()  # PE to L1BM; not where only the turnaround register is written
    L1BM_DOWN = auto()  # L1BM to PE; not from the turnaround register
    L2BM_UP = auto()  # L1BM to L2BM
    L2BM_DOWN = auto()  # L2BM to L1BM
    L2BM_SIDE = auto()  # l2bmi, L1BM to L1BM
    DAR_WRITE = auto()


LM0_ANY = Issue.LM0_READ | Issue.LM0_WRITE
LM1_ANY = Issue.LM1_READ | Issue.LM1_WRITE
FROM_L1BM = Issue.L2BM_UP | Issue.L2BM_SIDE


@dataclass(frozen=True, slots=True)
class Hazard:
    """After `producer`, a `consumer` needs at least `gap` steps in between."""

    rule: str
    producer: Issue
    consumer: Issue
    gap: int
    text: str


# Ports: the addresses do not matter.
PORT_HAZARDS: tuple[Hazard, ...] = (
    Hazard("H3", Issue.LM0_WRITE, Issue.LM0_READ, 2, "LM0 write, then LM0 read"),
    Hazard("H3", Issue.LM1_WRITE, Issue.LM1_READ, 2, "LM1 write, then LM1 read"),
    Hazard("H7", Issue.BAR0_WRITE, LM0_ANY, 2, "BAR0 write, then LM0 access"),
    Hazard("H7", Issue.BAR1_WRITE, LM1_ANY, 2, "BAR1 write, then LM1 access"),
    Hazard("H9", Issue.L1BM_UP, Issue.L1BM_DOWN, 2, "PE to L1BM, then L1BM to PE"),
    Hazard("H13", Issue.L2BM_UP, Issue.L2BM_DOWN, 3, "L1BM to L2BM, then L2BM to L1BM"),
    Hazard("H15", Issue.L2BM_DOWN, FROM_L1BM, 7, "L2BM to L1BM, then L1BM to L2BM or l2bmi"),
    Hazard("H15", Issue.L2BM_SIDE, FROM_L1BM, 3, "l2bmi, then L1BM to L2BM or l2bmi"),
    Hazard("H15", Issue.L2BM_SIDE, Issue.L1BM_DOWN, 3, "l2bmi, then L1BM to PE"),
)

# Data: only where the written and the read long words overlap.
DATA_HAZARDS: tuple[Hazard, ...] = (
    Hazard("H11", Issue.L1BM_UP, FROM_L1BM, 2, "PE to L1BM, then the same L1BM words to L2BM or l2bmi"),
    Hazard("H12", Issue.L2BM_DOWN, Issue.L1BM_DOWN, 1, "L2BM to L1BM, then the same L1BM words to the PEs"),
)

REGISTER_CYCLES = 7  # H1, H8: cycles from a GRF or T write to a read of the same word
MOVE_READ_GAP = 1  # H14: steps from an L2BM write to the MV that reads the same words
DAR_GAP = 128  # H18: steps from l2bmdarw to a $di transfer


def least_distance(producer: Issue, consumer: Issue) -> int:
    """Steps from `producer` to `consumer` if the second needs the words that the first wrote (at least 1)."""
    gaps = [h.gap for h in PORT_HAZARDS + DATA_HAZARDS if h.producer & producer and h.consumer & consumer]
    return 1 + max(gaps, default=0)
