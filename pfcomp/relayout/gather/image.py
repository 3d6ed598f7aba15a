"""How the source is laid out on its way through L1BM and L2BM: an address for every element (backend-movement.md 2.1).

The source addresses that anybody needs go up in chunks. Within a chunk, address k of PE p in MAB m is long word
x = 64k + 4m + p of the L1BM (4k + p where all MABs hold the same). What crosses L1Bs or L2Bs is joined with the x of
the others to z, the address in an image that everybody can read. Chunk c of the image starts at c times its size.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from pfcomp.layout import Level
from pfcomp.relayout.gather.wanted import LEVELS, Longs
from pfcomp.relayout.spots import SHIFT, WORDS, Ints, coordinate, distinct

L2BM_ROW, L1B_PIECE, L2B_PIECE = 64, 8, 16
STEP_WORDS = 256
MOST_L2BM, MOST_L1BM = 16384, 4096
L1BS, L2BS = 8, 8
SMALL = 4096
"""Spots from which on tables pay."""


class Join(Enum):
    """What happens between L1BM and L2BM."""

    LOCAL = "data stays in its L1B"
    KEPT = "data comes back to its L1B from other L2Bs: l2bmd up and down"
    MIXED = "l2bmd up, l2bmb down: pieces of 8 long words of the L1Bs in turn"
    ROWS = "l2bm@b up, l2bmb down: whole rows of one L1B"


@dataclass(frozen=True, eq=False, slots=True)
class Image:
    """`addresses` are the source addresses that go up, `chunk` of them at a time, `row` long words of L1BM each.

    `l1bs` and `l2bs` are the L1Bs (for ROWS) and L2Bs whose data goes up; `l2bs` is empty if no L2B is crossed.
    `spread` sends pieces of 16 long words of all L2Bs to PDM in turn (mvd) instead of one region for each L2B.
    """

    row: int
    addresses: Ints
    chunk: int
    join: Join
    l1bs: tuple[int, ...]
    l2bs: tuple[int, ...]
    spread: bool

    @property
    def chunks(self) -> int:
        return -(-len(self.addresses) // self.chunk)

    def raised(self, chunk: int) -> Ints:
        """The source addresses of a chunk."""
        return self.addresses[chunk * self.chunk : (chunk + 1) * self.chunk]

    def l1bm_words(self, addresses: int) -> int:
        """x of a chunk, whole rows of L2BM."""
        return -(-addresses * self.row // L2BM_ROW) * L2BM_ROW

    def l2bm_words(self, addresses: int) -> int:
        """Long words that a chunk takes in the L2BM of its own L2B."""
        rows = len(self.l1bs) if self.join is Join.ROWS else L1BS
        return 0 if self.join is Join.LOCAL else rows * self.l1bm_words(addresses)

    def words(self, addresses: int) -> int:
        """z of a chunk."""
        regions = len(self.l2bs) or 1
        local = self.join in (Join.LOCAL, Join.KEPT)
        return regions * (self.l1bm_words(addresses) if local else self.l2bm_words(addresses))

    @property
    def stride(self) -> int:
        """From one chunk of the image to the next, whole steps of every instruction."""
        return -(-self.words(min(self.chunk, len(self.addresses))) // STEP_WORDS) * STEP_WORDS

    def words_of(self, spot: Ints, unit: int) -> Ints:
        """2·(z / unit) + word for spots of the source; for those that do not go up it is some number.

        z is the sum of what address and L2B say and of what the L1B and the place in it say.
        """
        if spot.size < SMALL:
            return WORDS * (self._positions(spot) // unit) + coordinate(spot, Level.W)
        low = SHIFT[Level.L2B]
        first = int(self.addresses[0]) << SHIFT[Level.ADDR] | (min(self.l2bs, default=0) << low)
        outer = np.arange(int(spot.max()) + (1 << low) >> low, dtype=np.int32) << low
        inner = np.arange(1 << low, dtype=np.int32)
        words = WORDS * ((self._positions(inner | first) - self._positions(np.array([first], np.int32))) // unit)
        below = words + coordinate(inner, Level.W)
        above: Ints = WORDS * (self._positions(outer) // unit)
        found: Ints = above[spot >> low] + below[spot & (1 << low) - 1]
        return found

    def _positions(self, spot: Ints) -> Ints:
        """z of spots."""
        l2b, l1b, mab, pe, address = (coordinate(spot, level).astype(np.int64) for level in (*LEVELS, Level.ADDR))
        number = np.searchsorted(self.addresses, address).astype(np.int64)
        chunk, k = np.divmod(number, self.chunk)
        x = k * self.row + pe + (4 * mab if self.row == L2BM_ROW else 0)
        last = chunk == self.chunks - 1
        size = len(self.raised(self.chunks - 1))
        y = self._joined(x, l1b)
        if self.l2bs:
            region = np.where(last, self._region(size), self._region(self.chunk)).astype(np.int64)
            y = self._gathered(y, np.searchsorted(self.l2bs, l2b).astype(np.int64), region)
        return (chunk * self.stride + y).astype(np.int32)

    def _region(self, addresses: int) -> int:
        return self.words(addresses) // len(self.l2bs)

    def _joined(self, x: Longs, l1b: Longs) -> Longs:
        if self.join is Join.MIXED:
            return x // L1B_PIECE * L2BM_ROW + L1B_PIECE * l1b + x % L1B_PIECE
        if self.join is Join.ROWS:
            row = x // L2BM_ROW * len(self.l1bs) + np.searchsorted(self.l1bs, l1b)
            return row * L2BM_ROW + x % L2BM_ROW
        return x

    def _gathered(self, y: Longs, l2b: Longs, region: Longs) -> Longs:
        if self.spread:
            return y // L2B_PIECE * (L2BS * L2B_PIECE) + L2B_PIECE * l2b + y % L2B_PIECE
        return l2b * region + y


def choose_image(needed: Ints, used: tuple[int, ...], crossed: tuple[bool, ...], rows: bool) -> Image:
    """The image for the spots `needed` of a source that uses the coordinate bits `used`.

    `rows`: rows of 64 long words must stay together.
    """
    l2b_crossed, l1b_crossed = crossed[:2]
    addresses = distinct(coordinate(needed, Level.ADDR))
    l1bs = tuple(distinct(coordinate(needed, Level.L1B)).tolist())
    l2bs = tuple(distinct(coordinate(needed, Level.L2B)).tolist()) if l2b_crossed else ()
    if l1b_crossed or (l2b_crossed and not used[1]):
        join = Join.ROWS if rows or len(l1bs) <= 2 else Join.MIXED
    else:
        join = Join.KEPT if l2b_crossed else Join.LOCAL
    spread = len(l2bs) == L2BS and not rows and join is not Join.KEPT
    row, step = (L2BM_ROW, 4) if used[2] else (4, 16)
    whole = Image(row, addresses, step, join, l1bs, l2bs, spread)
    most = min(
        MOST_L1BM // row,
        MOST_L2BM * step // max(1, (len(l2bs) or 1) * whole.l2bm_words(step)),
    )
    return Image(row, addresses, max(step, most // step * step), join, l1bs, l2bs, spread)
