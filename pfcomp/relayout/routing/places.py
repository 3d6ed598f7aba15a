"""Where elements lie, as numbers of an L1B of the chip and of a lane in it, and which bits of these correspond."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.layout import Level
from pfcomp.layout.extents import used_bits
from pfcomp.relayout.api import Form
from pfcomp.relayout.spots import SHIFT, WORDS, Ints, coordinate, spots

Longs = NDArray[np.int64]
Bit = tuple[Level, int]

OUTER: tuple[Bit, ...] = tuple((level, bit) for level in (Level.L1B, Level.L2B) for bit in range(3))
LANES: tuple[Bit, ...] = (*((Level.PE, bit) for bit in range(2)), *((Level.MAB, bit) for bit in range(4)))
"""The bits of the number of an L1B, and of that of a PE in its L1B, the lowest first."""
ALL = (1 << 6) - 1


@dataclass(frozen=True, eq=False, slots=True)
class Spots:
    """The first copy of every element: its L1B, its lane, and its word in that lane's memory.

    `outer_bits` and `lane_bits` are the bits that tell elements apart.
    """

    outer: Ints
    lane: Ints
    word: Ints
    outer_bits: int
    lane_bits: int

    @staticmethod
    def of(form: Form, elements: Longs | None = None) -> Spots:
        """The spots of some elements, or of all row by row."""
        found = spots(form).reshape(-1)
        found = found if elements is None else found[elements]
        return Spots(
            found >> SHIFT[Level.L1B] & ALL,
            found >> SHIFT[Level.PE] & ALL,
            WORDS * coordinate(found, Level.ADDR) + coordinate(found, Level.W),
            sum((used_bits(form.layout, level) >> bit & 1) << k for k, (level, bit) in enumerate(OUTER)),
            sum((used_bits(form.layout, level) >> bit & 1) << k for k, (level, bit) in enumerate(LANES)),
        )


def bits_of(mask: int) -> list[int]:
    """The bits that are set, the highest first."""
    return [bit for bit in reversed(range(mask.bit_length())) if mask >> bit & 1]


def packed(numbers: Ints, bits: list[int]) -> Ints:
    """The number that some bits make, the highest first."""
    total = np.zeros_like(numbers)
    for bit in bits:
        total = total << 1 | (numbers >> bit & 1)
    return total


@dataclass(frozen=True, slots=True)
class Links:
    """How the bits of the number of an L1B relate before and after.

    `pairs` are (bit before, bit after) that are always equal, or where the L1Bs of the source hold copies; the masks
    `sent` and `received` have all others that tell elements apart.
    """

    pairs: tuple[tuple[int, int], ...]
    sent: int
    received: int

    @property
    def crosses(self) -> bool:
        """True if something leaves its L1B."""
        return bool(self.sent) or any(before != after for before, after in self.pairs)


def links(source: Spots, target: Spots) -> Links:
    """The links between the spots of elements before and after."""
    both = np.flatnonzero(np.bincount(source.outer << 6 | target.outer, minlength=1 << 12))
    before, after = both >> 6, both & ALL
    pairs: dict[int, int] = {}
    for new in bits_of(target.outer_bits):
        for old in sorted(bits_of(source.outer_bits & ~sum(1 << k for k in pairs)), key=lambda k: k != new):
            if (before >> old & 1 == after >> new & 1).all():
                pairs[old] = new
                break
    for new in bits_of(target.outer_bits & ~source.outer_bits):
        if new not in pairs.values():
            pairs[new] = new  # every L1B selects from the copies that it holds
    sent = source.outer_bits & ~sum(1 << old for old in pairs)
    return Links(tuple(pairs.items()), sent, target.outer_bits & ~sum(1 << new for new in pairs.values()))
