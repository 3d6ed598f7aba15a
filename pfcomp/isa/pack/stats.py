"""Figures of a program: steps, operations by unit, which steps move data and which compute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pfcomp.isa.model import Move, Program, Step, Unit

MOVING = frozenset({Unit.L1BM, Unit.L1BM_TURNAROUND, Unit.L2BM})
COMPUTING = frozenset({Unit.ALU, Unit.MAU})
_MATRIX_PORTS = (Unit.MAU, Unit.MWRITE, Unit.MREAD)  # at most two of them in a step (isa.md 16, rule 2)


@dataclass(frozen=True, slots=True)
class Stats:
    """`moving`/`computing`/`both`: steps with a transfer (or an MV right before them), with ALU or MAU work, with both.

    `units`: operations of each issue group, those that occur. `bound`: steps that the busiest resource needs,
    `critical` its name. `moves`: MV instructions, `waits`: waits.
    """

    steps: int
    nops: int
    moves: int
    waits: int
    moving: int
    computing: int
    both: int
    units: tuple[tuple[str, int], ...]
    bound: int
    critical: str

    @property
    def operations(self) -> int:
        """All operations of steps."""
        return sum(count for _, count in self.units)

    @property
    def expressions_per_step(self) -> float:
        """Operations per step, nops included as steps."""
        return self.operations / self.steps if self.steps else 0.0

    def as_pairs(self) -> Iterator[tuple[str, int]]:
        """All counts by name."""
        for name in ("steps", "nops", "moves", "waits", "moving", "computing", "both", "bound"):
            yield name, getattr(self, name)
        for unit, count in self.units:
            yield f"ops_{unit}", count


def program_stats(program: Program) -> Stats:
    """Figures of any program."""
    counts: Counter[str] = Counter()
    units: Counter[Unit] = Counter()
    moved = False
    for statement in program.statements:
        if isinstance(statement, Move):
            counts["moves"] += 1
            moved = True
        elif isinstance(statement, Step):
            _count_step(statement, moved, counts, units)
            moved = False
    bound, critical = _bound(units)
    return Stats(
        program.steps, counts["nops"], counts["moves"], counts["waits"], counts["moving"], counts["computing"],
        counts["both"], tuple((unit.value, units[unit]) for unit in Unit if units[unit]), bound, critical,
    )  # fmt: skip


def _count_step(step: Step, moved: bool, counts: Counter[str], units: Counter[Unit]) -> None:
    used = {op.unit for op in step.ops}
    units.update(op.unit for op in step.ops)
    moving, computing = moved or bool(used & MOVING), bool(used & COMPUTING)
    counts["waits"] += len(step.waits)
    counts["nops"] += step.repeat if step.is_nop else 0
    counts["moving"] += moving
    counts["computing"] += computing
    counts["both"] += moving and computing


def _bound(units: Counter[Unit]) -> tuple[int, str]:
    needs = {unit.value: units[unit] for unit in Unit}
    needs["mau ports"] = -(-sum(units[unit] for unit in _MATRIX_PORTS) // 2)
    critical = max(needs, key=lambda name: needs[name])
    return needs[critical], critical if needs[critical] else ""
