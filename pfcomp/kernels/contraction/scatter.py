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
from pfcomp.kernels.transfer import L1BM_SIZE

MABS = 16
L1BS = 8
PES = 4
SPLIT_STEP = 256
"""Long words of L2BM that one l2bmd step deals out to the L1Bs."""
WORDS_TOGETHER = 1024
"""Long words of complete regions that go together."""
MOST_OPEN = L1BM_SIZE * 3 // 4
"""Long words of L1BM that may wait, so that the ring does not come round to them."""


class Scatter(Sink):
    """Sums over MABs, and over L1Bs if the reduced axis is spread over them."""

    def __init__(
        self, context: KernelContext, result: MNValue, loops: Loops, mode: Mode, *, mabs: bool, l1bs: bool
    ) -> None:
        super().__init__(context, result, loops, mode)
        self.mabs, self.l1bs = mabs, l1bs
        self.addresses_per_region = 4 if mabs else 16
        self.regions: dict[int, int] = {}
        self.ready: list[tuple[int, int]] = []
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

    @property
    def _region_words(self) -> int:
        """Long words of a region before it is dealt out to the L1Bs."""
        return self._words * (L1BS if self.l1bs else 1)

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        region = self._region(spots[0])
        if region not in self.regions:
            if (len(self.regions) + len(self.ready) + 1) * self._region_words > MOST_OPEN:
                raise ValueError("more regions are open than L1BM holds")
            self.regions[region] = self.context.rings.l1bm.take(self._region_words, 64)
        row = self._row(spots[0])
        address = self.regions[region] + PES * row
        target = operands.l1bm(address, double=self.mode.wide)
        self.context.builder.op(f"l1bmr{self.mode.reduction}", last(None), to=target)
        self.open[region] -= 1
        if not self.open[region]:
            self.ready.append((region, self.regions.pop(region)))
        if len(self.ready) * self._region_words >= WORDS_TOGETHER:
            self.finish()

    def finish(self) -> None:
        spans = [self._span(region) for region, _ in self.ready]
        rows = [row for _, row in self.ready]
        if self.l1bs:
            rows = self._sum_and_split(rows, [words for _, _, words in spans])
        elif self.loops.over_l1b:
            parts = [
                row + part
                for row, (_, _, words) in zip(rows, spans, strict=True)
                for part in range(0, words, L2BM_STEP)
            ]
            sum_l1b(self.context, parts, self.loops.over_l1b, self.mode)
        for row, (first, count, _) in zip(rows, spans, strict=True):
            self._down(row, first, count)
        self.ready = []

    def _span(self, region: int) -> tuple[int, int, int]:
        """First address and number of addresses of a region, and its long words in one L1BM at the end."""
        first = region * self.addresses_per_region
        count = min(self.addresses_per_region, self.result.size - first)
        return first, count, self._words // self.addresses_per_region * count

    def _sum_and_split(self, rows: list[int], words: list[int]) -> list[int]:
        """Add up regions over the L1Bs and deal them out; returns where each L1BM has its own part of each region."""
        builder, rings = self.context.builder, self.context.rings
        totals = [-(-count * L1BS // SPLIT_STEP) * SPLIT_STEP for count in words]
        sums = [rings.l2bm.take(total, SPLIT_STEP) for total in totals]
        for row, buffer, count in zip(rows, sums, words, strict=True):
            for part in range(0, count * L1BS, L2BM_STEP):
                builder.op(f"l2bmr{self.mode.reduction}", operands.l1bm(row + part), to=operands.l2bm(buffer + part))
        own = [rings.l1bm.take(total // L1BS, 64) for total in totals]
        for place, buffer, total in zip(own, sums, totals, strict=True):
            for part in range(0, total, SPLIT_STEP):
                builder.op("l2bmd", operands.l2bm(buffer + part), to=operands.l1bm(place + part // L1BS))
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
