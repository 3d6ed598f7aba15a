"""From accumulators to the result in local memory.

Where the reduced axis is spread over MABs or L1Bs the partial results are added up by the reduction units of L1BM and
L2BM on their way to the result. They come back to all MABs (L1Bs) as copies, or scattered over them, whichever the
layout of the result says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.contraction.access import Four, writes
from pfcomp.kernels.contraction.loops import Column, Loops, Spot
from pfcomp.kernels.contraction.modes import Mode

ALL_L1B = 7
L2BM_STEP = 64
"""Long words that one l2bmr or l2bmb step moves."""
QUADS_TOGETHER = 8
BLOCKS_TOGETHER = 16
"""How much is summed over L1Bs in one go; two of them fit into L1BM."""

Emit = Callable[[Operand | None], Virtual]
"""Emits the last operation of an accumulation, with a destination or without, and returns the accumulator."""


@dataclass(slots=True)
class Sink(ABC):
    """Takes finished accumulators: the results of one tile for four columns."""

    context: KernelContext
    result: MNValue
    loops: Loops
    mode: Mode

    def fours(self, columns: Sequence[Column]) -> list[tuple[Column, ...]]:
        """Groups of four columns, one for each cycle; the last column stands for missing ones."""
        ordered = sorted(columns, key=lambda c: (c.spot.addr, c.spot.mab, c.spot.l1b))
        groups = [ordered[n : n + 4] for n in range(0, len(ordered), 4)]
        return [(*group, *[group[-1]] * (4 - len(group))) for group in groups]

    @abstractmethod
    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        """Deliver the results whose first long words belong to `spots`."""

    @abstractmethod
    def finish(self) -> None:
        """Must follow the last `take`."""

    def addresses(self, spots: Sequence[Spot]) -> Four:
        base = self.result.address or 0
        a, b, c, d = (base + spot.addr for spot in spots)
        return a, b, c, d

    def target(self, spots: Sequence[Spot]) -> Operand:
        return writes(self.result.location, self.addresses(spots), self.mode.accumulator)

    def run(self, address: int) -> Operand:
        """Four long words of the result from `address`."""
        return operands.run(self.result.location, (self.result.address or 0) + address)


class Direct(Sink):
    """The last operation writes the result."""

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        last(self.target(spots))

    def finish(self) -> None:
        """Everything is delivered."""


class InPlace(Sink):
    """The last operation writes partial results to the place of the result, where sums over L1Bs replace them."""

    missing: Counter[int]
    ready: list[int]

    def __init__(self, context: KernelContext, result: MNValue, loops: Loops, mode: Mode) -> None:
        super().__init__(context, result, loops, mode)
        self.missing, self.ready = Counter(), []
        for batch, tile, column in product(loops.batches, loops.tiles, loops.columns):
            self.missing.update(self._quads([batch.spot + tile.spot + column.spot]))

    def _quads(self, spots: Sequence[Spot]) -> list[int]:
        """The fours of addresses in which results lie."""
        return [
            (spot.addr + more) // 4
            for spot in spots
            for more in ((0, self.loops.pair.addr) if self.mode.wide else (0,))
        ]

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        last(self.target(spots))
        for quad in self._quads(list(dict.fromkeys(spots))):
            self.missing[quad] -= 1
            if not self.missing[quad]:
                self.ready.append(quad)
        if len(self.ready) >= QUADS_TOGETHER:
            self.finish()

    def finish(self) -> None:
        builder = self.context.builder
        rows = [(quad, self.context.rings.l1bm.take(256, 64)) for quad in self.ready]
        for quad, row in rows:
            builder.op("l1bmd", self.run(4 * quad), to=operands.l1bm(row))
        parts = [part for _, row in rows for part in range(row, row + 256, L2BM_STEP)]
        sum_l1b(self.context, parts, self.loops.over_l1b, self.mode)
        for quad, row in rows:
            builder.op("l1bmd", operands.l1bm(row), to=self.run(4 * quad))
        self.ready = []


def sum_l1b(context: KernelContext, parts: Sequence[int], over: int, mode: Mode) -> None:
    """Add up blocks of 64 long words of the L1BMs in place, over the L1B coordinate bits `over`.

    All sums go up before the first comes down: turning the transfers around costs steps.
    """
    members = [f"@{l1b}/{over}" for l1b in range(8) if not l1b & over] if over != ALL_L1B else [""]
    sums = [(part, these, context.rings.l2bm.take(L2BM_STEP, 64)) for part in parts for these in members]
    for part, these, buffer in sums:
        context.builder.op(f"l2bmr{mode.reduction}{these}", operands.l1bm(part), to=operands.l2bm(buffer))
    for part, these, buffer in sums:
        context.builder.op(f"l2bmb{these}", operands.l2bm(buffer), to=operands.l1bm(part))


class Turnaround(Sink):
    """Sums over MABs, copied back to all of them."""

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        wide = self.mode.wide
        self.context.builder.op(f"l1bmr{self.mode.reduction}", last(None), to="$llbi" if wide else "$lbi")
        self.context.builder.op("l1bmm", "$llbi" if wide else "$lbi", to=self.target(spots))

    def finish(self) -> None:
        """Everything is delivered."""


class Gathered(Sink):
    """Sums over MABs and L1Bs, copied back to all of them; several blocks go together."""

    waiting: list[tuple[int, Sequence[Spot]]]
    blocks: list[int]

    def __init__(self, context: KernelContext, result: MNValue, loops: Loops, mode: Mode) -> None:
        super().__init__(context, result, loops, mode)
        self.waiting, self.blocks = [], []

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        words = 32 if self.mode.wide else 16
        offset = words * len(self.waiting) % L2BM_STEP
        if not offset:
            if len(self.blocks) == BLOCKS_TOGETHER:
                self.finish()
            self.blocks.append(self.context.rings.l1bm.take(L2BM_STEP, 64))
        target = operands.l1bm(self.blocks[-1] + offset, double=self.mode.wide)
        self.context.builder.op(f"l1bmr{self.mode.reduction}", last(None), to=target)
        self.waiting.append((self.blocks[-1] + offset, spots))

    def finish(self) -> None:
        sum_l1b(self.context, self.blocks, self.loops.over_l1b, self.mode)
        for address, spots in self.waiting:
            source = operands.l1bm(address, double=self.mode.wide)
            self.context.builder.op("l1bmm", source, to=self.target(spots))
        self.waiting, self.blocks = [], []
