"""The DRAM image of a value: which coordinate bits are stored, and where in a group's block (backend-movement.md 2.1).

With coordinates a (Addr), m (MAB), p (PE), b (L1B), l (L2B), t (Time), group l >> 1 and c = l & 1:

    x = (a * mab_count + (m >> (4 - mab_bits))) * pe_count + p        position in one L1BM
    y = x, or 64 * (x >> 4) + 16 * (b >> 1) + (x & 15), or 64 * (x >> 3) + 8 * b + (x & 7)     position in one L2BM
    dram[group][base + t * slice_words + c * region_words + y]        one long word

Everything is counted in long words of 64 bits. Padding is stored as zero, unused bits of a stored class as copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import SourceError
from pfcomp.layout.extents import extent, used_bits
from pfcomp.layout.model import Layout, Level
from pfcomp.layout.verify import verify

Coordinates: TypeAlias = NDArray[np.int64]
ROW_WORDS = 64
"""Long words of a row of L2BM; a region of DRAM begins at a multiple of it."""
UNIT_WORDS = 16
"""Long words of a DRAM access unit."""


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """The classes of a layout's image and the sizes that follow from them, in long words.

    `mab_bits` 0, 2 (the upper two) or 4, `pe_bits` 0 or 2, `l1b_bits` 0, 2 (the upper two) or 3 and `l2b_split` say
    which coordinate bits the image tells apart: Mc, Pc, Bc and Cc of backend-movement.md 2.1.
    """

    layout: Layout
    shape: tuple[int, ...]
    bits: int
    mab_bits: int
    pe_bits: int
    l1b_bits: int
    l2b_split: bool
    addresses: int
    """A: the extent of Addr."""
    times: int
    """The extent of Time."""

    @staticmethod
    def of(layout: Layout, shape: tuple[int, ...], bits: int) -> ImageSpec:
        """The image of a value of `shape` with elements of `bits` (16, 32, 64) bits.

        Raises SourceError PF0202 to PF0206 as `verify`, and PF0204 if the image exceeds a group's DRAM.
        """
        return _spec(layout, shape, bits)

    @property
    def per_word(self) -> int:
        """Elements in a long word."""
        return 64 // self.bits

    @property
    def mab_count(self) -> int:
        """How many MABs of an L1B the image tells apart."""
        return 1 << self.mab_bits

    @property
    def pe_count(self) -> int:
        """How many PEs of a MAB the image tells apart."""
        return 1 << self.pe_bits

    @property
    def l1b_count(self) -> int:
        """How many L1Bs of an L2B the image tells apart."""
        return 1 << self.l1b_bits

    @property
    def l1b_run(self) -> int:
        """Adjacent long words of one L1B in L2BM."""
        return ROW_WORDS // self.l1b_count

    @property
    def l1bm_words(self) -> int:
        """X: long words of the image in one L1BM."""
        return self.addresses * self.mab_count * self.pe_count

    @property
    def l2bm_words(self) -> int:
        """Y: long words of the image in one L2BM."""
        if not self.l1b_bits:
            return self.l1bm_words
        return ROW_WORDS * -(-self.l1bm_words // self.l1b_run)

    @property
    def region_words(self) -> int:
        """S: long words of DRAM for one L2B, whole rows."""
        return ROW_WORDS * -(-self.l2bm_words // ROW_WORDS)

    @property
    def slice_words(self) -> int:
        """Z: long words of DRAM per group and time slice, a multiple of 16."""
        return 2 * self.region_words if self.l2b_split else UNIT_WORDS * -(-self.l2bm_words // UNIT_WORDS)

    @property
    def group_words(self) -> int:
        """Long words of DRAM per group in all: the size of the value's address range."""
        return self.times * self.slice_words

    def stored_bits(self, level: Level) -> int:
        """The bits of a spatial coordinate that have places of their own in the image."""
        return {
            Level.L2B: 6 | self.l2b_split,
            Level.L1B: {0: 0, 2: 6, 3: 7}[self.l1b_bits],
            Level.MAB: {0: 0, 2: 12, 4: 15}[self.mab_bits],
            Level.PE: {0: 0, 2: 3}[self.pe_bits],
            Level.W: self.per_word - 1,
        }[level]

    def position(self, addr: Coordinates, mab: Coordinates, pe: Coordinates, l1b: Coordinates) -> Coordinates:
        """y: where a long word lies in its L2B's region; bits that are not stored must be 0."""
        x = (addr * self.mab_count + (mab >> (4 - self.mab_bits))) * self.pe_count + pe
        if not self.l1b_bits:
            return x
        run = self.l1b_run
        return ROW_WORDS * (x // run) + run * (l1b >> (3 - self.l1b_bits)) + x % run

    def coordinates(self, position: Coordinates) -> tuple[Coordinates, Coordinates, Coordinates, Coordinates]:
        """Addr (may exceed the extent: padding), MAB, PE and L1B of long words of a region, unstored bits 0."""
        x, l1b = position, np.zeros_like(position)
        if self.l1b_bits:
            run = self.l1b_run
            x = position // ROW_WORDS * run + position % run
            l1b = (position % ROW_WORDS // run) << (3 - self.l1b_bits)
        row, pe = np.divmod(x, self.pe_count)
        addr, mab = np.divmod(row, self.mab_count)
        return addr, mab << (4 - self.mab_bits), pe, l1b


@lru_cache(maxsize=1024)
def _spec(layout: Layout, shape: tuple[int, ...], bits: int) -> ImageSpec:
    verify(layout, shape, bits)
    mab, pe, l1b = (used_bits(layout, level) for level in (Level.MAB, Level.PE, Level.L1B))
    mab_bits = 4 if mab & 3 else 2 if mab else 0
    spec = ImageSpec(
        layout,
        shape,
        bits,
        mab_bits=mab_bits,
        pe_bits=2 if pe or mab_bits else 0,
        l1b_bits=3 if l1b & 1 else 2 if l1b else 0,
        l2b_split=bool(used_bits(layout, Level.L2B) & 1),
        addresses=extent(layout, Level.ADDR),
        times=extent(layout, Level.TIME),
    )
    if spec.group_words > Level.ADDR.extent:
        raise SourceError("PF0204", f"the image needs {spec.group_words} long words of each DRAM", where=str(layout))
    return spec
