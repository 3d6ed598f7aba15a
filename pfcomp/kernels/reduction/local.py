"""Reductions inside an L1B without its network: addresses, words, PEs and, by rotation, MABs (isa.md 9.2, 12.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import CYCLES, Operand
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.lanes import WORD_BITS
from pfcomp.kernels.reduction.geometry import Field
from pfcomp.kernels.reduction.masks import Masks
from pfcomp.kernels.reduction.monoids import Monoid
from pfcomp.kernels.reduction.stream import Stream, Value
from pfcomp.layout import Level

BLOCK = 64
"""Terms that are added one after the other; longer sums add the sums of blocks, which keeps rounding errors small."""

MABS = 16
PES = 4
L1BM_ROW = 64
"""Long words of L1BM that `l1bmd` moves in a cycle: one for each PE."""


class LocalReduction:
    """Emits the stages of a reduction on vectors (four long words per PE); two that work `beside` each other share
    constants and masks.
    """

    def __init__(self, context: KernelContext, monoid: Monoid, beside: LocalReduction | None = None) -> None:
        self.context, self.monoid = context, monoid
        self.e: Stream = beside.e if beside else Stream(context.builder)
        self.masks: Masks = beside.masks if beside else Masks(context)

    def combine(self, x: Value, y: Value) -> Value:
        """One application of the operation."""
        first, *more = self.monoid.combine
        result = self.e.op(first, x, y)
        for mnemonic in more:
            result = self.e.op(mnemonic, x, y, result)
        return result

    def fold(self, terms: Sequence[Value]) -> Value:
        """All terms combined, block by block."""
        while len(terms) > BLOCK:
            starts = range(0, len(terms), BLOCK)
            terms = [self.fold(terms[start : start + BLOCK]) for start in starts]
        total = terms[0] if len(terms) == 1 else self.clean(terms[0])  # the other unit loads the first one
        for term in terms[1:]:
            total = self.combine(total, term)
        return total

    def terms(self, source: MNValue, addresses: Sequence[int], offsets: Sequence[int]) -> list[Value]:
        """The operand's vectors that are combined into one: `addresses` of its four cycles plus each offset."""
        start = source.address or 0
        return [operands.vector(source.location, [start + a + offset for a in addresses]) for offset in offsets]

    def clean(self, x: Value) -> Value:
        """The value in a form that makes the result independent of the order of operands."""
        return self.e.op(self.monoid.clean, x) if self.monoid.clean else x

    def words(self, x: Value) -> Value:
        """Combine the two words of each long word."""
        return self.combine(x, self.e.op("lbsl", x, self.e.twice(WORD_BITS)))

    def rotated(self, level: Level, x: Value, field: Field, extent: int) -> Value:
        """Combine lanes of `level` that differ in reduced bits, highest bit first.

        Adding 2^bit to the coordinate flips the bit; the carry does no harm where all higher bits hold copies by then.
        Otherwise half of the lanes look up and half look down.
        """
        settled = field.copies
        for bit in reversed(range(extent.bit_length() - 1)):
            if field.reduced >> bit & 1:
                above = (extent - 1) & ~((2 << bit) - 1)
                x = self.combine(x, self._partner(level, x, bit, one_way=above & ~settled == 0))
                settled |= 1 << bit
        return x

    def _partner(self, level: Level, x: Value, bit: int, *, one_way: bool) -> Value:
        """The value of the lane whose coordinate differs in `bit`."""
        place = 1 << bit
        look = self._looker(level, x)
        if one_way:
            return look(place, "")
        up = look(place, self.masks.equal(level, place, 0))
        down = look(-place, self.masks.equal(level, place, place))
        return self.e.op("lor", up, down)

    def _looker(self, level: Level, x: Value) -> Callable[[int, str], Value]:
        """A function from a distance and a zero-flush to the value of the lane that far up, cyclically."""
        if level is Level.PE:
            return lambda distance, flush: self._other_pe(x, distance, flush)
        buffer = operands.l1bm(self.context.rings.l1bm.take(CYCLES * L1BM_ROW, L1BM_ROW))
        self.send("l1bmd", x, buffer)
        return lambda distance, flush: self.e.op(f"l1bmd+{-distance % MABS}{flush}", buffer)

    def _other_pe(self, x: Value, distance: int, flush: str) -> Value:
        mnemonic = "msr" if distance > 0 else "msl"
        for _ in range(abs(distance) - 1):
            x = self.e.op(mnemonic, x)
        return self.e.op(mnemonic + flush, x)

    def send(self, mnemonic: str, x: Value, target: Operand) -> None:
        """A transfer up to L1BM."""
        self.e.store(self.e.op(mnemonic, x), target)
