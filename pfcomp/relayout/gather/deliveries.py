"""Feeds through L1BM and L2BM: every PE gets what lies at some place of an image."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import MaskRef, Operand
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.relayout.gather.direct import DirectStep, direct_steps
from pfcomp.relayout.gather.feeds import Session, Window
from pfcomp.relayout.gather.image import L2BM_ROW, Image, Join
from pfcomp.relayout.gather.passes import Grain, Straight
from pfcomp.relayout.gather.stream import DOWN_WORDS, Stream
from pfcomp.relayout.spots import WORDS, Ints, distinct

LATENCY = 8
MOVE_LATENCY = 30
"""Steps until the first long word arrives: through L1BM and L2BM, and of each MV."""
MOVE_WORDS = 64
"""Long words that an MV moves in one step."""
CYCLES = 4
ALL_CYCLES = 31
NO_CYCLE = 16
"""Mask entries of the fixed patterns."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """An instruction down from L1BM: `unit` long words of L1BM become one in each PE.

    `grain` is that of a step of the widest form; `partners` are the units of a block that this form puts into the
    two long words of each cycle, () if there is only the form of one long word.
    """

    mnemonic: str
    unit: int
    grain: Grain
    partners: tuple[tuple[int, int], ...] = ()


TO_ALL = Delivery("l1bmp", 1, Grain((0, 2, 4, 6, 1, 3, 5, 7)), ((0, 4), (1, 5), (2, 6), (3, 7)))
TO_MABS = Delivery("l1bmm", 4, Grain((0, 1, 2, 3, 4, 5, 6, 7)), ((0, 1), (2, 3), (4, 5), (6, 7)))
TO_OWN = Delivery("l1bmd", 64, Grain((0, 1, 2, 3)))


@dataclass(frozen=True, slots=True)
class ImageFeed:
    """The source comes up as `image` and goes down by `delivery`; units are image addresses / `delivery.unit`."""

    image: Image
    delivery: Delivery
    inside: bool = False

    @property
    def grain(self) -> Grain:
        return self.delivery.grain

    def steps(self, direct: Sequence[Straight], blocks: Ints) -> int:
        image = self.image
        size = len(self.grain.places)
        down = len(blocks) + len(direct_steps(direct, self.delivery.partners))
        up = -(-len(image.addresses) // CYCLES)
        if image.join is Join.LOCAL:
            return up + down + LATENCY
        row = DOWN_WORDS[image.join]
        reached = set(distinct(blocks * (size * self.delivery.unit) // row).tolist())
        reached |= {item.source // WORDS * self.delivery.unit // row for item in direct}
        joined = image.l2bm_words(len(image.addresses)) // (L2BM_ROW if image.join is Join.ROWS else CYCLES * L2BM_ROW)
        moved = 2 * image.chunks * MOVE_LATENCY + image.words(len(image.addresses)) * 2 // MOVE_WORDS
        return max(up, joined) + max(down, len(reached)) + 2 * LATENCY + (moved if image.l2bs else 0)

    def open(self, context: KernelContext, source: MNValue, target: MNValue, direct: Sequence[Straight]) -> Session:
        session = _Session(context, self, target, list(direct))
        session.stream = Stream(context, self.image, source, session.loaded)
        return session


@dataclass(slots=True)
class _Session:
    context: KernelContext
    feed: ImageFeed
    target: MNValue
    direct: list[Straight]
    stream: Stream = field(init=False)

    def loaded(self, chunk: int) -> None:
        """Send on what goes straight to the target."""
        delivery, image = self.feed.delivery, self.feed.image
        low, high = (WORDS * number * image.stride // delivery.unit for number in (chunk, chunk + 1))
        here = [item for item in self.direct if low <= item.source < high]
        for step in direct_steps(here, delivery.partners):
            size = delivery.unit * step.units
            l1bm = self.stream.find(step.block * size, size)
            self.context.builder.op(delivery.mnemonic, operands.l1bm(l1bm, double=step.wide), to=self._targets(step))
        self.direct = [item for item in self.direct if not low <= item.source < high]

    def _targets(self, step: DirectStep) -> Operand:
        """Where the units of each cycle go; cycles that nobody wants are masked."""
        base = WORDS * (self.target.address or 0)
        some = next(target for target in step.targets if target is not None)
        addresses = [base + (some if target is None else target) for target in step.targets]
        entry = NO_CYCLE + sum(8 >> cycle for cycle, target in enumerate(step.targets) if target is not None)
        operand = operands.words(self.target.location, addresses, 2 * WORDS if step.wide else WORDS)
        length = "ll" if step.wide else ""  # else the second long word would be written in all cycles (isa.md 7.1)
        return operand if entry == ALL_CYCLES else replace(operand, mask=MaskRef(entry, length))

    def window(self, blocks: Sequence[int], scratch: MNValue | None) -> Window:
        """Every block, one after the other."""
        if scratch is None:
            raise ValueError("this window needs scratch memory")
        delivery = self.feed.delivery
        size = len(delivery.grain.places)
        for number, block in enumerate(blocks):
            l1bm = self.stream.find(block * size * delivery.unit, size * delivery.unit)
            address = (scratch.address or 0) + number * size
            wide = bool(delivery.partners)
            to = operands.pairs(scratch.location, address) if wide else operands.run(scratch.location, address)
            self.context.builder.op(delivery.mnemonic, operands.l1bm(l1bm, double=wide), to=to)
        return scratch.location, scratch.address or 0

    def finish(self) -> None:
        """Load the chunks that were needed only for what goes straight to the target."""
        while self.direct:
            stride = WORDS * self.feed.image.stride // self.feed.delivery.unit
            self.stream.load(self.direct[0].source // stride)
