"""What the C engine carries out in one call: micro-operations and copying moves up to the next thing it cannot do."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pfcomp.emulator.c.native import Packed, Table, pack
from pfcomp.emulator.lower.program import Lowered, Segment
from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.runs import Run, runs_of


@dataclass(frozen=True, slots=True)
class Batch:
    """`ops [operation][49]`, `runs [run][8]`, and `parts [part][2]`: so many operations, then so many runs."""

    ops: Packed
    runs: Table
    parts: Table


@dataclass(slots=True)
class _Open:
    """A batch being written."""

    micros: list[Micro] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    parts: list[tuple[int, int]] = field(default_factory=list)

    def add(self, micros: tuple[Micro, ...], runs: list[Run]) -> None:
        self.micros += micros
        self.runs += runs
        self.parts.append((len(micros), len(runs)))

    def close(self) -> Batch:
        runs, parts = np.array(self.runs, np.int64).reshape(-1, 8), np.array(self.parts, np.int64)
        return Batch(pack(self.micros), runs, parts)


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
        if current.parts:
            result.append(current.close())
            current = _Open()
        result.append(segment)
    if current.parts:
        result.append(current.close())
    return tuple(result)


def _runs(segment: Micro | Segment, lowered: Lowered) -> list[Run] | None:
    if not isinstance(segment, Micro) or segment.code != Code.MOVE:
        return None
    return runs_of(*lowered.moves[segment.params[0]])
