"""Sums that come back scattered over MABs, L1Bs or both (backend-movement.md M10 and M16).

The results of a few addresses form a *region* of rows in L1BM, a row being the four long words of one result place.
A reduction writes four (wide: eight) rows one after the other; where a row must lie follows from the instructions that
bring the region back: l1bmd gives 16 consecutive rows to the MABs of one address, l2bmd gives row pairs to the L1Bs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product

from pfcomp.ir.model import MNValue
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.contraction.deliver import L2BM_STEP, Emit, Sink, sum_l1b
from pfcomp.kernels.contraction.loops import Column, Loops, Spot
from pfcomp.kernels.contraction.modes import Mode

MABS = 16
L1BS = 8
PES = 4
SPLIT_STEP = 256
"""Long words of L2BM that one l2bmd step deals out to the L1Bs."""


class Scatter(Sink):
    """Sums over MABs, and over L1Bs if the reduced axis is spread over them."""

    def __init__(
        self, context: KernelContext, result: MNValue, loops: Loops, mode: Mode, *, mabs: bool, l1bs: bool
    ) -> None:
        super().__init__(context, result, loops, mode)
        self.mabs, self.l1bs = mabs, l1bs
        self.addresses_per_region = 4 if mabs else 16
        self.regions: dict[int, int] = {}
        self.open = Counter[int]()
        groups = self.fours(loops.columns)
        for batch, tile, group in product(loops.batches, loops.tiles, groups):
            self.open[self._region(batch.spot + tile.spot + group[0].spot)] += 1

    def fours(self, columns: Sequence[Column]) -> list[tuple[Column, ...]]:
        pitch = 2 if self.mode.wide else 1
        groups: dict[tuple[int, int], dict[int, Column]] = {}
        for column in columns:
            row = self._row(column.spot)
            key = self._region(column.spot), row // (4 * pitch)
            groups.setdefault(key, {})[row // pitch % 4] = column
        return [_filled(groups[key]) for key in sorted(groups)]

    def _region(self, spot: Spot) -> int:
        return spot.addr // self.addresses_per_region

    def _row(self, spot: Spot) -> int:
        """The row of a result in its region."""
        inside = spot.addr % self.addresses_per_region
        row = MABS * inside + spot.mab if self.mabs else inside
        if not self.l1bs:
            return row
        return row // 2 * 2 * L1BS + 2 * spot.l1b + row % 2

    @property
    def _words(self) -> int:
        """Long words of a region as they come back to one L1BM."""
        return PES * (MABS if self.mabs else 1) * self.addresses_per_region

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        region = self._region(spots[0])
        if region not in self.regions:
            words = self._words * (L1BS if self.l1bs else 1)
            self.regions[region] = self.context.rings.l1bm.take(words, 64)
        row = self._row(spots[0])
        address = self.regions[region] + PES * row
        target = operands.l1bm(address, double=self.mode.wide)
        self.context.builder.op(f"l1bmr{self.mode.reduction}", last(None), to=target)
        self.open[region] -= 1
        if not self.open[region]:
            self._deliver(region, self.regions.pop(region))

    def finish(self) -> None:
        """Every region was delivered with its last result."""

    def _deliver(self, region: int, rows: int) -> None:
        first = region * self.addresses_per_region
        count = min(self.addresses_per_region, self.result.size - first)
        words = self._words // self.addresses_per_region * count
        if self.l1bs:
            rows = self._sum_and_split(rows, words)
        elif self.loops.over_l1b:
            for part in range(0, words, L2BM_STEP):
                sum_l1b(self.context, rows + part, self.loops.over_l1b, self.mode)
        self._down(rows, first, count)

    def _sum_and_split(self, rows: int, words: int) -> int:
        """Add up `words`·8 long words over the L1Bs and deal them out; returns where each L1BM has its own."""
        builder, rings = self.context.builder, self.context.rings
        total = -(-words * L1BS // SPLIT_STEP) * SPLIT_STEP
        sums = rings.l2bm.take(total, SPLIT_STEP)
        own = rings.l1bm.take(total // L1BS, 64)
        for part in range(0, words * L1BS, L2BM_STEP):
            builder.op(f"l2bmr{self.mode.reduction}", operands.l1bm(rows + part), to=operands.l2bm(sums + part))
        for part in range(0, total, SPLIT_STEP):
            builder.op("l2bmd", operands.l2bm(sums + part), to=operands.l1bm(own + part // L1BS))
        return own

    def _down(self, rows: int, first: int, count: int) -> None:
        builder = self.context.builder
        if self.mabs:
            builder.op("l1bmd", operands.l1bm(rows), to=self.run(first))
            return
        for address in range(0, count, 4):
            builder.op("l1bmm", operands.l1bm(rows + PES * address), to=self.run(first + address))


def _filled(group: dict[int, Column]) -> tuple[Column, ...]:
    """Four columns by cycle; the rows of missing ones belong to padding, so any other may take its cycle."""
    any_column = group[min(group)]
    return tuple(group.get(cycle, any_column) for cycle in range(4))
