"""Which source word every place of the target wants, and which levels the data has to cross (backend-movement.md 5)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from pfcomp.layout import Level, places
from pfcomp.layout.extents import extent, used_bits
from pfcomp.relayout.api import Form

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

ANY, KEEP = -1, -2
"""Places that may get anything, and places that must not change."""
NOBODY = -2
"""In an index: this place may get anything (-1: it must not change)."""

LEVELS = (Level.L2B, Level.L1B, Level.MAB, Level.PE)
WORDS = 2


@dataclass(frozen=True, eq=False, slots=True)
class Origin:
    """Where each source element lies, its first copy: coordinates by level, address and word.

    `word` is None where both words of a long word belong to (or are copies of) the element. `used` are the coordinate
    bits that tell elements apart.
    """

    at: tuple[Ints, ...]
    address: Ints
    word: Ints | None
    used: tuple[int, ...]

    @staticmethod
    def of(form: Form) -> Origin:
        """The places of a source."""
        found = {
            level: values.reshape(-1).astype(np.int32) for level, values in places(form.layout, form.shape).items()
        }
        split = form.bits == 32 and used_bits(form.layout, Level.W) > 0
        return Origin(
            tuple(found[level] for level in LEVELS),
            found[Level.ADDR],
            found[Level.W] if split else None,
            tuple(used_bits(form.layout, level) for level in LEVELS),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Wanted:
    """The target's places: element[l2b, l1b, mab, pe, address, word] is a flat source index, ANY or KEEP.

    `cells` has the coordinates of each level that are told apart; all others hold copies of them.
    """

    cells: tuple[Ints, ...]
    used: tuple[int, ...]
    element: Ints

    @staticmethod
    def of(form: Form, index: NDArray[np.int64] | None) -> Wanted:
        """The places of a target whose element i is source element index[i]; -1 is KEEP, None the identity."""
        used = tuple(used_bits(form.layout, level) for level in LEVELS)
        cells = tuple(_coordinates(bits, level.extent) for bits, level in zip(used, LEVELS, strict=True))
        found = places(form.layout, form.shape)
        size = prod(form.shape)
        source = np.arange(size, dtype=np.int32) if index is None else index.reshape(-1).astype(np.int32)
        source = np.where(source < 0, np.where(source == NOBODY, np.int32(ANY), np.int32(KEEP)), source)
        shape = (*(len(cell) for cell in cells), extent(form.layout, Level.ADDR), WORDS)
        element = np.full(shape, ANY, dtype=np.int32)
        at = [np.searchsorted(cell, found[level].reshape(-1)) for cell, level in zip(cells, LEVELS, strict=True)]
        address = found[Level.ADDR].reshape(-1)
        if form.bits == 32 and used_bits(form.layout, Level.W):
            element[(*at, address, found[Level.W].reshape(-1))] = source
        else:
            element[(*at, address)] = source[:, None]
        return Wanted(cells, used, element)

    def with_all_pes(self) -> Wanted:
        """The same with all four PEs told apart."""
        pes = np.arange(Level.PE.extent, dtype=np.int32)
        element = self.element[:, :, :, np.searchsorted(self.cells[3], pes & self.used[3])]
        return Wanted((*self.cells[:3], pes), (*self.used[:3], Level.PE.extent - 1), element)

    def cell(self, level: int) -> Ints:
        """The coordinates of a level, shaped to go with `element`."""
        return self.cells[level].reshape(tuple(-1 if axis == level else 1 for axis in range(self.element.ndim)))


def _coordinates(bits: int, extent_: int) -> Ints:
    return np.array([value for value in range(extent_) if value & ~bits == 0], np.int32)


def crossings(wanted: Wanted, origin: Origin) -> tuple[bool, ...]:
    """For each level whether some place lies at another coordinate than all copies of the element that it wants."""
    needed = wanted.element >= 0
    element = np.maximum(wanted.element, 0)
    found = []
    for level, (at, used) in enumerate(zip(origin.at, origin.used, strict=True)):
        if used == 0 or not needed.any():
            found.append(False)
        elif used & ~wanted.used[level]:
            found.append(True)
        else:
            found.append(bool((needed & (at[element] != wanted.cell(level) & used)).any()))
    return tuple(found)


def source_words(wanted: Wanted, origin: Origin, unit: Ints) -> Ints:
    """2·unit + word for every place, ANY or KEEP, as (cells, address, word); `unit` is given for every place."""
    element = wanted.element
    words = np.arange(WORDS, dtype=np.int32) if origin.word is None else origin.word[np.maximum(element, 0)]
    found = np.where(element >= 0, WORDS * unit + words, element).astype(np.int32)
    return found.reshape(-1, *element.shape[-2:])
