"""What the C engine carries out in one call: micro-operations and moves up to the next thing it cannot do."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.emulator.c.native import Packed, pack
from pfcomp.emulator.lower.program import Lowered, Segment
from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.phases import Phases, Table
from pfcomp.emulator.runs import Run, runs_of


@dataclass(frozen=True, slots=True)
class Batch:
    """`ops [operation][49]`; `runs [run][11]`, `parts [part][2]` and `phases [phase][4]`, see `Phases.tables`."""

    ops: Packed
    runs: Table
    parts: Table
    phases: Table


@dataclass(slots=True)
class _Open:
    """A batch being written."""

    micros: list[Micro] = field(default_factory=list)
    phases: Phases = field(default_factory=Phases)

    def add(self, micros: tuple[Micro, ...], runs: list[Run]) -> None:
        self.micros += micros
        self.phases.add(len(micros), runs)

    def close(self) -> Batch:
        return Batch(pack(self.micros), *self.phases.tables())


def batches(lowered: Lowered) -> tuple[Micro | Segment | Batch, ...]:
    """`lowered.segments` with as much as possible in batches."""
    result: list[Micro | Segment | Batch] = []
    current = _Open()
    for segment in lowered.segments:
        if isinstance(segment, Segment) and segment.both:
            current.add(segment.micros, [])
            continue
        runs = _runs(segment, lowered)
        if runs is not None:
            current.add((), runs)
            continue
        if current.phases.parts:
            result.append(current.close())
            current = _Open()
        result.append(segment)
    if current.phases.parts:
        result.append(current.close())
    return tuple(result)


def _runs(segment: Micro | Segment, lowered: Lowered) -> list[Run] | None:
    if not isinstance(segment, Micro) or segment.code != Code.MOVE:
        return None
    return runs_of(*lowered.moves[segment.params[0]])
