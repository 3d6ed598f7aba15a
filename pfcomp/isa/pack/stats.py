"""Figures of a packed program beyond plain counts: which steps move data, which compute, what bounds the length."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pfcomp.isa import stats as plain
from pfcomp.isa.model import Move, Program, Step, Unit

MOVING = frozenset({Unit.L1BM, Unit.L1BM_TURNAROUND, Unit.L2BM})
COMPUTING = frozenset({Unit.ALU, Unit.MAU})
_MATRIX_PORTS = (Unit.MAU, Unit.MWRITE, Unit.MREAD)  # at most two of them in a step (isa.md 16, rule 2)


@dataclass(frozen=True, slots=True)
class Stats:
    """`counts` of the program; `moving`/`computing`/`both`: steps with a transfer (or an MV right before them), with
    ALU or MAU work, with both; `bound`: steps that the busiest resource needs, `critical` its name.
    """

    counts: plain.Stats
    moving: int
    computing: int
    both: int
    bound: int
    critical: str

    @property
    def steps(self) -> int:
        """Steps, nops included."""
        return self.counts.steps

    @property
    def nops(self) -> int:
        """Steps without operation."""
        return self.counts.nops

    @property
    def expressions_per_step(self) -> float:
        """Operations per step, nops included as steps."""
        return self.counts.ops / self.steps if self.steps else 0.0

    def as_pairs(self) -> Iterator[tuple[str, int]]:
        """All counts by name."""
        counts = self.counts
        yield from (("steps", counts.steps), ("nops", counts.nops), ("moves", counts.moves), ("waits", counts.waits))
        yield from (("moving", self.moving), ("computing", self.computing), ("both", self.both), ("bound", self.bound))
        yield from ((f"ops_{unit}", count) for unit, count in counts.units.items() if count)


def program_stats(program: Program) -> Stats:
    """Figures of any program."""
    moving = computing = both = 0
    moved = False
    for statement in program.statements:
        if isinstance(statement, Move):
            moved = True
        elif isinstance(statement, Step):
            used = {op.unit for op in statement.ops}
            moves, computes = moved or bool(used & MOVING), bool(used & COMPUTING)
            moving, computing, both = moving + moves, computing + computes, both + (moves and computes)
            moved = False
    counts = plain.statistics(program)
    return Stats(counts, moving, computing, both, *_bound(counts.units))


def _bound(units: Mapping[str, int]) -> tuple[int, str]:
    needs = {**units, "mau ports": -(-sum(units[unit] for unit in _MATRIX_PORTS) // 2)}
    critical = max(needs, key=lambda name: needs[name])
    return needs[critical], critical if needs[critical] else ""
