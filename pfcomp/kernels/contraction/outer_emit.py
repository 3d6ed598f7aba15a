"""Emission of products by the vector unit (`outer`), from the layouts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from pfcomp.ir.model import DType, MNValue
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext, Placed
from pfcomp.kernels.contraction.loops import GRID, Coordinates
from pfcomp.kernels.contraction.mapping import Axis, used
from pfcomp.kernels.contraction.outer import ROW
from pfcomp.kernels.reduction.geometry import Field
from pfcomp.kernels.reduction.local import LocalReduction
from pfcomp.kernels.reduction.monoids import MONOIDS
from pfcomp.kernels.reduction.network import LaneReduction
from pfcomp.layout import Level

BATCH = 32
"""Result places of a MAB that travel together."""
VECTOR = 4

Cell = tuple[int, int]
"""A place of the result in every MAB: number of the row among those of a MAB, number of the kept operand's address."""


@dataclass(frozen=True, slots=True)
class Work:
    """What every MAB does, as addresses.

    `rows`: of the dealt operand for each row of a MAB. `own`: of the kept operand and of the result for each of its own
    addresses. `depth`: of the dealt and of the kept operand. `places`: of the result for each row of a MAB and MAB.
    """

    rows: Sequence[int]
    own: Sequence[tuple[int, int]]
    depth: Sequence[tuple[int, int]]
    places: Sequence[Sequence[int]]


def emit_outer(context: KernelContext, kept: int, placed: Placed) -> None:
    """Emit all operations of one product; `kept` is the number of the kept operand."""
    _Emission(context, kept, placed).run()


class _Emission:
    def __init__(self, context: KernelContext, kept: int, placed: Placed) -> None:
        self.context, self.builder = context, context.builder
        self.kept, self.dealt, self.result = placed.inputs[kept], placed.inputs[1 - kept], placed.outputs[0]
        own, depth = self.kept.layout.axes[kept], self.kept.layout.axes[1 - kept]
        dealt_own, dealt_depth = self.dealt.layout.axes[1 - kept], self.dealt.layout.axes[kept]
        result_own, result_rows = self.result.layout.axes[kept], self.result.layout.axes[1 - kept]
        self.work = _work(own, depth, dealt_own, dealt_depth, result_own, result_rows)
        fields = {level: _field(level, (*own, *dealt_own), depth) for level in GRID}
        self.lanes = LaneReduction(LocalReduction(context, MONOIDS["ReduceSum", DType.FLOAT]), fields)

    def run(self) -> None:
        cells = list(product(range(len(self.work.rows)), range(len(self.work.own))))
        for start in range(0, len(cells), BATCH):
            self._batch(cells[start : start + BATCH])

    def _batch(self, cells: Sequence[Cell]) -> None:
        fours = [cells[start : start + VECTOR] for start in range(0, len(cells), VECTOR)]
        buffer = self.context.rings.l1bm.take(len(fours) * VECTOR * ROW, ROW)
        for number, four in enumerate(fours):
            self.builder.op("l1bmd", self._sums(four), to=operands.l1bm(buffer + number * VECTOR * ROW))
        if self.lanes.leaves_l1b:
            buffer = self.lanes.summed(buffer, len(cells) * ROW)
        for number, cell in enumerate(cells):
            self._deliver(buffer + number * ROW, cell)

    def _sums(self, cells: Sequence[Cell]) -> Virtual:
        """The products of up to four cells, added up over the addresses of the reduced axis."""
        total: list[Virtual] = []
        for dealt, kept in self.work.depth:
            numbers = _vector(self.dealt, [dealt + self.work.rows[row] for row, _ in cells])
            vector = _vector(self.kept, [kept + self.work.own[own][0] for _, own in cells])
            total = [self.builder.op("fvfma" if total else "fvmul", numbers, vector, *total)]
        return total[0]

    def _deliver(self, source: int, cell: Cell) -> None:
        """One cell of all MABs, from a row of L1BM to all of them; two long words at a time where they are pairs."""
        row, own = cell
        start = (self.result.address or 0) + self.work.own[own][1]
        addresses = [start + place for place in self.work.places[row]]
        paired = len(addresses) >= 2 * VECTOR and all(a % 2 == 0 and b == a + 1 for a, b in _pairs(addresses))
        step = 2 * VECTOR if paired else VECTOR
        for first in range(0, len(addresses), step):
            part = addresses[first : first + step]
            if paired:
                words = [operands.WORDS * a for a, _ in _pairs(part)]
                to = operands.words(self.result.location, words, 2 * operands.WORDS)
            else:
                to = operands.vector(self.result.location, [part[k % len(part)] for k in range(VECTOR)])
            self.builder.op("l1bmm", operands.l1bm(source + VECTOR * first, double=paired), to=to)


def _vector(value: MNValue, addresses: Sequence[int]) -> Operand:
    return operands.vector(value.location, [(value.address or 0) + address for address in addresses])


def _pairs(addresses: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(addresses[::2], addresses[1::2], strict=True)


def _work(own: Axis, depth: Axis, dealt_own: Axis, dealt_depth: Axis, result_own: Axis, result_rows: Axis) -> Work:
    sums, deals = Coordinates(depth), Coordinates(dealt_depth)
    local = [int(k) for k in np.flatnonzero(sums.local())]
    sources, targets = Coordinates(own), Coordinates(result_own)
    mine = [int(k) for k in np.flatnonzero(sources.local(Level.PE, Level.W))]
    rows, places = Coordinates(dealt_own), Coordinates(result_rows)
    first = [int(k) for k in np.flatnonzero(rows.local())]
    shared = rows.count // len(first)
    return Work(
        [rows.address(k) for k in first],
        [(sources.address(k), targets.address(k)) for k in mine],
        [(deals.address(k), sums.address(k)) for k in local],
        [[places.address(k + mab) for mab in range(shared)] for k in first],
    )


def _field(level: Level, own: Axis, depth: Axis) -> Field:
    """The bits of a level that tell results apart, that are summed over, and others."""
    kept, reduced = used(own, level), used(depth, level)
    return Field(kept, reduced, level.extent - 1 & ~(kept | reduced))
