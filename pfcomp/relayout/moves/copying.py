"""Moves inside a PE: addresses in another order, and the word place against an address bit (M1, M2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.operands import WORDS
from pfcomp.relayout.moves import lanes
from pfcomp.relayout.moves.model import (
    WORD,
    Places,
    Store,
    Universe,
    bit_rows,
    by_stride,
    combinations,
    count,
    valid,
)


@dataclass(frozen=True, slots=True)
class Copy:
    """The value as it is, at other addresses: one long word per cycle and PE, two where pairs stay together."""

    universe: Universe
    after: Places
    paired: bool

    @property
    def steps(self) -> int:
        return -(-count(self.universe, self.universe.address_items(self.after)) // (8 if self.paired else 4))

    @property
    def exact(self) -> bool:
        return True

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        values = combinations(self.universe, by_stride(self.universe.address_items(self.after), target))
        before, after = source.addresses(values).tolist(), target.addresses(values).tolist()
        start = 0
        while start < len(values):
            wide = self.paired and _paired(before[start : start + 8]) and _paired(after[start : start + 8])
            end = start + (8 if wide else 4)
            if wide:
                read = lanes.wide(source.location, before[start:end:2])
                to = lanes.wide(target.location, after[start:end:2])
            else:
                read = operands.vector(source.location, before[start:end])
                to = lanes.target(target.location, after[start:end])
            context.builder.op("lpassa", read, to=to)
            start = end


def _paired(addresses: list[int]) -> bool:
    """True if the addresses are four pairs of neighbours, each from an even address."""
    firsts, seconds = addresses[::2], addresses[1::2]
    return len(addresses) == 8 and all(a % 2 == 0 and b == a + 1 for a, b in zip(firsts, seconds, strict=True))


@dataclass(frozen=True, slots=True)
class Words:
    """Another item, or copies, in the word place: four words per cycle and step."""

    universe: Universe
    before: Places
    after: Places

    @property
    def steps(self) -> int:
        others = count(self.universe, self._others())
        return -(-2 * others * (1 + (self.before[WORD[0]] >= 0)) // 4)

    @property
    def exact(self) -> bool:
        return True

    def _others(self) -> tuple[int, ...]:
        items = self.universe.address_items(self.before)
        return tuple(i for i in items if i not in self.after)

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        items = by_stride(self._others(), target)
        size = len(self.universe.sizes)
        others = combinations(self.universe, items)
        arriving, leaving = bit_rows(self.before, WORD, size), bit_rows(self.after, WORD, size)
        old = range(2 if self.before[WORD[0]] >= 0 else 1)
        rows: list[tuple[int, int]] = []
        for x, word in np.ndindex(len(old), 2):
            exists = valid(self.universe, others + arriving[x])
            read = WORDS * source.addresses(others + leaving[word]) + x
            write = WORDS * target.addresses(others + arriving[x]) + word
            rows.extend(zip(read[exists].tolist(), write[exists].tolist(), strict=True))
        for start in range(0, len(rows), 4):
            reads, writes = zip(*rows[start : start + 4], strict=True)
            read_from = lanes.words(source.location, reads)
            context.builder.op("lpassa", read_from, to=lanes.words(target.location, writes))
