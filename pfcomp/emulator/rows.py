"""Where every PE-side memory lies in `State.mem`: one row holds one long word of all 512 PEs of an L2B.

A row number is the second index of `mem[tile][row][pe]`. Rows are shared by both engines; the numbers are only
meaningful inside one process.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pfcomp.isa.model import CYCLES, Place

TILES = 8  # one tile = one L2B
L1BS = 8
MABS = 16
PES = 4
PES_PER_L1B = MABS * PES
PES_PER_TILE = L1BS * PES_PER_L1B

Quad = tuple[int, int, int, int]  # one row for each cycle


class Value(NamedTuple):
    """A datapath value: rows of LW0 and of LW1 for each cycle; `lo` is None where LW1 is zero."""

    hi: Quad
    lo: Quad | None = None


class Memory(NamedTuple):
    """First row and size in words of an addressable PE memory."""

    base: int
    words: int


MEMORIES: dict[Place, Memory] = {
    Place.LM0: Memory(0, 4096),
    Place.LM1: Memory(2048, 4096),
    Place.GRF0: Memory(4096, 512),
    Place.GRF1: Memory(4352, 512),
}

T_ROW = 4608  # LW0 of cycles 0..3, then LW1
MASK_ROW = T_ROW + 2 * CYCLES  # 16 entries of 4 cycles, each nibble bit spread over a half-word
MATRIX_ROWS = 16
MATRIX_ROW: dict[Place, int] = {
    Place.MATRIX_X: MASK_ROW + 16 * CYCLES,
    Place.MATRIX_Y: MASK_ROW + 16 * CYCLES + MATRIX_ROWS,
}
BAR_ROW: dict[Place, int] = {
    Place.BAR0: MASK_ROW + 16 * CYCLES + 2 * MATRIX_ROWS,
    Place.BAR1: MASK_ROW + 16 * CYCLES + 2 * MATRIX_ROWS + 1,
}
ZERO = BAR_ROW[Place.BAR1] + 1
TRASH = ZERO + 1
ID_ROW = TRASH + 1  # for every id: 64-bit, 32-bit and 16-bit form
IDS = (Place.L2BID, Place.L1BID, Place.MABID, Place.PEID, Place.SUBPEID, Place.MSB1)
SLOT_ROW = ID_ROW + 3 * len(IDS)
SLOTS = 40
SLOT_SIZE = 2 * CYCLES
ROWS = SLOT_ROW + SLOTS * SLOT_SIZE

ZERO_QUAD: Quad = (ZERO, ZERO, ZERO, ZERO)


def same(row: int) -> Quad:
    """The same row in all four cycles."""
    return (row, row, row, row)


def run(row: int, step: int = 1) -> Quad:
    """Rows `row`, `row + step`, … of the four cycles."""
    return (row, row + step, row + 2 * step, row + 3 * step)


T_VALUE = Value(run(T_ROW), run(T_ROW + CYCLES))


def id_row(place: Place, bits: int) -> int:
    """Row of an identifier input in the form that a `bits` wide element needs (isa.md 1)."""
    return ID_ROW + 3 * IDS.index(place) + {64: 0, 32: 1, 16: 2}[bits]


def slot(index: int) -> Value:
    """The scratch rows of slot `index`."""
    row = SLOT_ROW + index * SLOT_SIZE
    return Value(run(row), run(row + CYCLES))


@lru_cache(maxsize=65536)
def selector(quad: Quad) -> slice | list[int]:
    """What to index the row axis with: a slice where the rows are equal (length 1) or evenly spaced upwards."""
    first, second, third, fourth = quad
    step = second - first
    if step == 0 and first == third == fourth:
        return slice(first, first + 1)
    if step > 0 and third - second == step and fourth - third == step:
        return slice(first, fourth + 1, step)
    return list(quad)
