"""Allocation of register file words: a buddy allocator for each of GRF0 and GRF1."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable

from pfcomp.isa.model import Place
from pfcomp.isa.tables_places import PLACES

LEAST = 2
"""Words of the smallest block: one long word."""


class Registers:
    """Free words of one register file, in blocks of 2, 4, 8, ... words at multiples of their size."""

    __slots__ = ("_free", "words")

    def __init__(self, place: Place, taken: Iterable[int]) -> None:
        """All long words are free except those in `taken` (long word numbers)."""
        size = PLACES[place].size
        self._free: dict[int, list[int]] = {}
        block = LEAST
        while block <= size:
            self._free[block] = []
            block *= 2
        self.words = 0
        occupied = set(taken)
        for word in range(0, size, LEAST):
            if word // LEAST not in occupied:
                self.free(word, LEAST)

    def has(self, words: int) -> bool:
        """True if `take(words)` would succeed."""
        return any(blocks for size, blocks in self._free.items() if size >= words)

    def take(self, words: int) -> int:
        """First word of a block of `words` (a power of two); the lowest of the smallest that fits. Must exist."""
        size = words
        while not self._free[size]:
            size *= 2
        base = self._free[size].pop(0)
        while size > words:
            size //= 2
            insort(self._free[size], base + size)
        self.words -= words
        return base

    def free(self, base: int, words: int) -> None:
        """Give a block back."""
        self.words += words
        while words * 2 in self._free:
            blocks, buddy = self._free[words], base ^ words
            at = bisect_left(blocks, buddy)
            if at == len(blocks) or blocks[at] != buddy:
                break
            del blocks[at]
            base, words = min(base, buddy), words * 2
        insort(self._free[words], base)
