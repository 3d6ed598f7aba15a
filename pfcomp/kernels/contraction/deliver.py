"""From accumulators to the result in local memory.

Where the reduced axis is spread over MABs or L1Bs the partial results are added up by the reduction units of L1BM and
L2BM on their way to the result. They come back to all MABs (L1Bs) as copies, or scattered over them, whichever the
layout of the result says.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    """The last operation writes the result; sums over L1Bs follow in place."""

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        last(self.target(spots))

    def finish(self) -> None:
        if self.loops.over_l1b:
            for address in range(0, self.result.size, 4):
                self._sum(address)

    def _sum(self, address: int) -> None:
        builder, rings = self.context.builder, self.context.rings
        rows = rings.l1bm.take(256, 64)
        builder.op("l1bmd", self.run(address), to=operands.l1bm(rows))
        for part in range(rows, rows + 256, L2BM_STEP):
            sum_l1b(self.context, part, self.loops.over_l1b, self.mode)
        builder.op("l1bmd", operands.l1bm(rows), to=self.run(address))


def sum_l1b(context: KernelContext, part: int, over: int, mode: Mode) -> None:
    """Add up 64 long words of the L1BMs in place, over the L1B coordinate bits `over`."""
    for l1b in range(8):
        if l1b & over:
            continue
        members = "" if over == ALL_L1B else f"@{l1b}/{over}"
        buffer = context.rings.l2bm.take(L2BM_STEP, 64)
        context.builder.op(f"l2bmr{mode.reduction}{members}", operands.l1bm(part), to=operands.l2bm(buffer))
        context.builder.op(f"l2bmb{members}", operands.l2bm(buffer), to=operands.l1bm(part))


class Turnaround(Sink):
    """Sums over MABs, copied back to all of them."""

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        wide = self.mode.wide
        self.context.builder.op(f"l1bmr{self.mode.reduction}", last(None), to="$llbi" if wide else "$lbi")
        self.context.builder.op("l1bmm", "$llbi" if wide else "$lbi", to=self.target(spots))

    def finish(self) -> None:
        """Everything is delivered."""


class Gathered(Sink):
    """Sums over MABs and L1Bs, copied back to all of them; as many sums as one L2BM step moves go together."""

    waiting: list[tuple[int, Sequence[Spot]]]
    block: int

    def __init__(self, context: KernelContext, result: MNValue, loops: Loops, mode: Mode) -> None:
        super().__init__(context, result, loops, mode)
        self.waiting = []
        self.block = 0

    def take(self, spots: Sequence[Spot], last: Emit) -> None:
        words = 32 if self.mode.wide else 16
        if not self.waiting:
            self.block = self.context.rings.l1bm.take(L2BM_STEP, 64)
        address = self.block + words * len(self.waiting)
        self._reduce(address, last(None))
        self.waiting.append((address, spots))
        if len(self.waiting) * words == L2BM_STEP:
            self.finish()

    def _reduce(self, address: int, value: Virtual) -> None:
        target = operands.l1bm(address, double=self.mode.wide)
        self.context.builder.op(f"l1bmr{self.mode.reduction}", value, to=target)

    def finish(self) -> None:
        if self.waiting:
            sum_l1b(self.context, self.block, self.loops.over_l1b, self.mode)
        for address, spots in self.waiting:
            self.context.builder.op(
                "l1bmm", operands.l1bm(address, double=self.mode.wide), to=self.target(spots)
            )  # fmt: skip
        self.waiting = []
