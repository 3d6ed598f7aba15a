"""Elements with their indices as 64-bit integers, and lists of them in registers."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.ir.model import DType, MNValue
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext, Placed
from pfcomp.kernels.lanes import WORD_BITS
from pfcomp.kernels.reduction.stream import Stream, Value

ALL = 0xFFFFFFFF
SIGN = 1 << 31
WORDS_OF = {False: 1, True: 2}
"""Entries for each long word of the operand: where words hold copies the first one suffices."""


class Entries:
    """Emits for one job: `largest` says which elements come first, `words` that the two words are different elements.

    The high word of an entry is the element, changed such that signed integers have the order of the values; for the
    smallest elements it is complemented. The low word is the complement of the index.
    """

    def __init__(self, context: KernelContext, placed: Placed, *, largest: bool, words: bool) -> None:
        self.source, self.values, self.indices = placed.inputs[0], *placed.outputs
        self.largest, self.words = largest, words
        self.real = self.source.dtype is DType.FLOAT
        self.e = Stream(context.builder)
        self.addresses: Sequence[int] = ()

    def begin_row(self, addresses: Sequence[int]) -> None:
        """The operand's addresses of the four cycles."""
        self.e.begin_vector()
        self.addresses = addresses

    def lists(self, offsets: Sequence[int], k: int) -> list[list[Value]]:
        """For each word the k first entries in order."""
        found: list[list[Value]] = [[] for _ in range(WORDS_OF[self.words])]
        low: Value = self.e.pair(0, ALL)
        for offset in offsets:
            for entries, entry in zip(found, self._entries(low, offset), strict=True):
                self._insert(entries, entry, k)
            low = self.e.op("ldec", low)
        return found

    def write(self, entries: Sequence[Value], addresses: Sequence[int]) -> None:
        """Store values and indices of one entry for each word; `addresses` are those of the four cycles' values."""
        down = self.e.twice(WORD_BITS)
        order = self.e.op("lor", self._high(entries[0]), self.e.op("ullsr", entries[-1], down))
        value = self._turned(order)
        self._store(self.values, self._flipped(value) if self.real else value, addresses)
        for word, entry in enumerate(entries):
            index = self.e.op("land", self.e.op("lnot", entry), self.e.pair(0, ALL))
            self._store(self.indices, index, [len(entries) * address + word for address in addresses])

    def _store(self, value: MNValue, x: Value, addresses: Sequence[int]) -> None:
        start = value.address or 0
        self.e.store(x, operands.vector(value.location, [start + address for address in addresses]))

    def _insert(self, entries: list[Value], entry: Value, k: int) -> None:
        for place, other in enumerate(entries):
            entries[place] = self.e.op("lmax", other, entry)
            if place + 1 < k:
                entry = self.e.op("lmin", other, entry)
        if len(entries) < k:
            entries.append(entry)

    def _entries(self, low: Value, offset: int) -> list[Value]:
        start = self.source.address or 0
        element = operands.vector(self.source.location, [start + address + offset for address in self.addresses])
        order = self._turned(self._flipped(self.e.op("fvpassa", element)) if self.real else element)
        first = self.e.op("lor", self._high(order), low)
        if not self.words:
            return [first]
        return [first, self.e.op("lor", self.e.op("llsl", order, self.e.twice(WORD_BITS)), low)]

    def _high(self, x: Value) -> Value:
        return self.e.op("land", x, self.e.pair(ALL, 0))

    def _flipped(self, x: Value) -> Value:
        """Sign and magnitude to the order of two's complement, and back."""
        sign = self.e.op("ilsr", x, self.e.twice(WORD_BITS - 1))
        return self.e.op("ixor", x, self.e.op("iand", sign, self.e.twice(ALL ^ SIGN)))

    def _turned(self, x: Value) -> Value:
        return x if self.largest else self.e.op("inot", x)
