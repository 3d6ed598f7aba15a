"""Phases of a batch: stretches of operations and runs in which no L2B depends on what another one does.

Operations of an L2B touch nothing but its own memories. A run belongs to an L2B too, to the one whose L2BM it touches;
what L2Bs have in common is the off-chip memory. So an L2B can go through many moves before it must wait for the others:
until a run touches what a run of another L2B has touched since the last wait, where one of the two writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.rows import TILES
from pfcomp.emulator.runs import Run
from pfcomp.emulator.sparse import DRAM_LW, GROUPS, PDM_LW
from pfcomp.emulator.state import L2BM_LW

SIZES = (L2BM_LW,) * TILES + (DRAM_LW,) * GROUPS + (PDM_LW,) * GROUPS  # long words of each memory instance
TABLE_COLUMNS = (11, 2, 4)  # of runs, parts and phases
MOST_RUNS = 256  # of a phase; bounds what a run is compared with
Table = NDArray[np.int64]


class Area(NamedTuple):
    """Blocks of `length` long words, one every `step`, from `start` up to `end`."""

    start: int
    end: int
    step: int
    length: int


def area(instance: int, address: int, length: int, repeat: int, step: int) -> Area:
    """What blocks cover; the whole memory where they wrap."""
    size = SIZES[instance]
    start = address % size
    end = start + step * (repeat - 1) + length
    return Area(start, end, step, length) if end <= size else Area(0, size, size, size)


def overlap(one: Area, two: Area) -> bool:
    """Whether two areas of one memory may have a long word in common; exact where their steps are equal."""
    if one.end <= two.start or two.end <= one.start:
        return False
    if one.step != two.step or not one.step:
        return True
    distance = (two.start - one.start) % one.step
    return distance < one.length or one.step - distance < two.length


def _tile(run: Run) -> int:
    """The L2B that a run belongs to; any will do for reductions and for runs between off-chip memories."""
    if run.target < TILES:
        return run.target
    return run.source if run.source < TILES and not run.members else 2 * (run.target % GROUPS)


def _foreign(run: Run) -> bool:
    """Whether a run reads L2BMs of other L2Bs, whose operations may touch them at any time."""
    return bool(run.members) or (run.source < TILES and run.source != _tile(run))


class _Access(NamedTuple):
    """An area of a run of L2B `tile`."""

    tile: int
    writes: bool
    area: Area


def _accesses(run: Run, tile: int) -> tuple[tuple[int, _Access], tuple[int, _Access]]:
    read = area(run.source, run.source_address, run.length, run.repeat, run.source_step)
    written = area(run.target, run.target_address, run.length, run.repeat, run.target_step)
    return (run.source, _Access(tile, False, read)), (run.target, _Access(tile, True, written))


@dataclass(slots=True)
class Phases:
    """A batch being divided: `parts` (operations, then runs), runs with their L2B, first part of each phase."""

    parts: list[list[int]] = field(default_factory=list)
    runs: list[tuple[int, ...]] = field(default_factory=list)
    _starts: list[int] = field(default_factory=lambda: [0])
    _known: dict[int, list[_Access]] = field(default_factory=dict)  # by memory instance, since the last wait
    _count: int = 0

    def add(self, operations: int, runs: list[Run]) -> None:
        """So many operations on every L2B, then the runs of a move."""
        self.parts.append([operations, 0])
        foreign = any(map(_foreign, runs))
        if foreign:
            self._wait()
        for run in runs:
            self._run(run)
        if foreign:
            self._wait()

    def _run(self, run: Run) -> None:
        tile = _tile(run)
        accesses = _accesses(run, tile)
        if self._count == MOST_RUNS or any(self._meets(*access) for access in accesses):
            self._wait()
        for instance, access in accesses:
            self._known.setdefault(instance, []).append(access)
        self._count += 1
        self.runs.append((*run, tile))
        self.parts[-1][1] += 1

    def _meets(self, instance: int, access: _Access) -> bool:
        return any(
            known.tile != access.tile and (known.writes or access.writes) and overlap(known.area, access.area)
            for known in self._known.get(instance, ())
        )

    def _wait(self) -> None:
        self._starts.append(len(self.parts))
        self.parts.append([0, 0])
        self._known.clear()
        self._count = 0

    def tables(self) -> tuple[Table, Table, Table]:
        """Runs `[run][11]`, parts `[part][2]`, phases `[phase][4]`: first part, parts, first operation, first run."""
        rows = zip((self.runs, self.parts), TABLE_COLUMNS, strict=False)
        runs, parts = (np.array(table, np.int64).reshape(-1, columns) for table, columns in rows)
        starts = np.array(self._starts, np.int64)
        before = np.concatenate([np.zeros((1, 2), np.int64), parts.cumsum(0)])[starts]
        count = np.diff(starts, append=len(parts))
        return runs, parts, np.column_stack([starts, count, before])
