"""Which source word every place of the target wants, and which levels the data has to cross (backend-movement.md 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.layout import Level
from pfcomp.layout.extents import extent, used_bits
from pfcomp.relayout.api import Form
from pfcomp.relayout.spots import MASK, SHIFT, WORDS, Ints, coordinate, spots

Longs = NDArray[np.int64]

ANY, KEEP = -1, -2
"""Places that may get anything, and places that must not change."""
NOBODY = -2
"""In an index: this place may get anything (-1: it must not change)."""

LEVELS = (Level.L2B, Level.L1B, Level.MAB, Level.PE)


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """Where each source element lies, its first copy, as in `spots`.

    `split` is false where both words of a long word belong to (or are copies of) the element. `used` are the coordinate
    bits that tell elements apart.
    """

    spot: Ints
    split: bool
    used: tuple[int, ...]

    @staticmethod
    def of(form: Form) -> Origin:
        """The places of a source."""
        used = tuple(used_bits(form.layout, level) for level in LEVELS)
        return Origin(spots(form).reshape(-1), _split(form), used)


@dataclass(frozen=True, eq=False, slots=True)
class Wanted:
    """The target's places: spot[l2b, l1b, mab, pe, address, word] is the source's spot that each wants, ANY or KEEP.

    `cells` has the coordinates of each level that are told apart; all others hold copies of them.
    """

    cells: tuple[Ints, ...]
    used: tuple[int, ...]
    spot: Ints

    @staticmethod
    def of(form: Form, index: Longs | None, origin: Origin) -> Wanted:
        """The places of a target whose element i is source element index[i]; -1 is KEEP, None the identity."""
        used = tuple(used_bits(form.layout, level) for level in LEVELS)
        cells = tuple(_coordinates(bits, level.extent) for bits, level in zip(used, LEVELS, strict=True))
        shape = (*(len(cell) for cell in cells), extent(form.layout, Level.ADDR), WORDS)
        spot = np.full(shape, ANY, dtype=np.int32)
        found = _sources(index, origin)
        at = spots(form).reshape(-1)
        long_word = _cell_numbers(cells)[at >> SHIFT[Level.PE] & CELLS - 1] * shape[-2] + (at >> SHIFT[Level.ADDR])
        if _split(form):
            spot.reshape(-1)[WORDS * long_word + (at & MASK[Level.W])] = found
        else:
            spot.reshape(-1, WORDS)[long_word] = found[:, None]
        return Wanted(cells, used, spot)

    @property
    def needed(self) -> Ints:
        """The spots of the source that are wanted, as often as they are."""
        return self.spot[self.spot >= 0]

    def with_all_pes(self) -> Wanted:
        """The same with all four PEs told apart."""
        pes = np.arange(Level.PE.extent, dtype=np.int32)
        spot = self.spot[:, :, :, np.searchsorted(self.cells[3], pes & self.used[3])]
        return Wanted((*self.cells[:3], pes), (*self.used[:3], Level.PE.extent - 1), spot)

    def cell(self, level: int) -> Ints:
        """The coordinates of a level, shaped to go with `spot`."""
        return self.cells[level].reshape(tuple(-1 if axis == level else 1 for axis in range(self.spot.ndim)))


CELLS = 1 << SHIFT[Level.ADDR] - SHIFT[Level.PE]
"""PEs of the chip; their number is what stands between word and address in a spot."""


def _split(form: Form) -> bool:
    return form.bits == 32 and used_bits(form.layout, Level.W) > 0


def _coordinates(bits: int, extent_: int) -> Ints:
    return np.array([value for value in range(extent_) if value & ~bits == 0], np.int32)


def _cell_numbers(cells: tuple[Ints, ...]) -> Ints:
    """For each PE of the chip its number among the cells; only those that are told apart count."""
    everywhere = np.arange(CELLS, dtype=np.int32) << SHIFT[Level.PE]
    number: Ints = np.zeros(CELLS, np.int32)
    for cell, level in zip(cells, LEVELS, strict=True):
        number = number * len(cell) + np.searchsorted(cell, coordinate(everywhere, level)).astype(np.int32)
    return number


def _sources(index: Longs | None, origin: Origin) -> Ints:
    """The spot that every element of the target wants, ANY or KEEP."""
    if index is None:
        return origin.spot
    wanted = index.reshape(-1)
    if wanted.min(initial=0) >= 0:
        return origin.spot[wanted]
    kept = np.where(wanted == NOBODY, np.int32(ANY), np.int32(KEEP))
    return np.where(wanted >= 0, origin.spot[np.maximum(wanted, 0)], kept)


def crossings(wanted: Wanted, origin: Origin) -> tuple[bool, ...]:
    """For each level whether some place lies at another coordinate than all copies of the element that it wants."""
    own = sum((wanted.cell(number) << SHIFT[level] for number, level in enumerate(LEVELS)), np.zeros((), np.int32))
    apart = np.bitwise_or.reduce(np.where(wanted.spot >= 0, wanted.spot ^ own, 0), axis=None)
    return tuple(
        bool(used & ~there and (wanted.spot >= 0).any()) or bool(coordinate(apart, level) & used)
        for level, used, there in zip(LEVELS, origin.used, wanted.used, strict=True)
    )


def source_words(wanted: Wanted, origin: Origin, unit_words: Ints) -> Ints:
    """2·unit + word for every place, ANY or KEEP, as (cells, address, word).

    `unit_words` is 2·unit for every place, with the word of its spot.
    """
    found = unit_words if origin.split else np.add(unit_words, np.arange(WORDS, dtype=np.int32))
    if wanted.spot.min(initial=0) < 0:
        found = np.where(wanted.spot >= 0, found, wanted.spot)
    return found.reshape(-1, *wanted.spot.shape[-2:])
