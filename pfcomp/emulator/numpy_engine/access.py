"""Rows of PE memory as arrays `[tile 8][cycle 4 or 1][PE 512]`, and masks.

A quad whose four rows are the same is read as one cycle and left to broadcasting.
"""

from __future__ import annotations

import numpy as np

from pfcomp.emulator.rows import PES_PER_TILE, TILES, ZERO_QUAD, Quad, Value, run, selector
from pfcomp.emulator.state import State, Words
from pfcomp.isa.model import CYCLES

SHAPE = (TILES, CYCLES, PES_PER_TILE)
HIGH_WORD = np.uint64(0xFFFF_FFFF_0000_0000)
LOW_WORD = np.uint64(0xFFFF_FFFF)


def read(state: State, quad: Quad) -> Words:
    """The long words of a quad; a view where the rows are evenly spaced."""
    return state.mem[:, selector(quad)]


def read_low(state: State, value: Value) -> Words:
    """LW1 of a value."""
    return read(state, value.lo or ZERO_QUAD)


def write(state: State, quad: Quad, data: Words | int) -> None:
    """Store all cycles; where a row repeats, the last cycle stays."""
    where = selector(quad)
    if isinstance(where, slice) and where.stop == quad[0] + 1:
        state.mem[:, quad[0]] = data[:, -1] if isinstance(data, np.ndarray) else data
    else:
        state.mem[:, where] = data


def write_masked(state: State, quad: Quad, data: Words, mask: Words) -> None:
    """Store the bits of `data` where `mask` has ones; cycle by cycle where a row repeats."""
    if len(set(quad)) == CYCLES:
        old = read(state, quad)
        write(state, quad, old ^ ((old ^ data) & mask))
        return
    data, mask = np.broadcast_to(data, SHAPE), np.broadcast_to(mask, SHAPE)
    for cycle, row in enumerate(quad):
        old = state.mem[:, row]
        state.mem[:, row] = old ^ ((old ^ data[:, cycle]) & mask[:, cycle])


def masks(state: State, mask_row: int, two_long: int) -> tuple[Words, Words | None]:
    """Bit masks for LW0 and LW1 of the entry at `mask_row`; None means that LW1 is not masked (isa.md 7.1)."""
    spread = read(state, run(mask_row))
    if not two_long:
        return spread, None
    bits = [(spread >> np.uint64(48 - 16 * i)) & np.uint64(1) for i in range(4)]  # b3 b2 b1 b0
    words = [bit * LOW_WORD for bit in bits]
    return (words[0] << np.uint64(32)) | words[1], (words[2] << np.uint64(32)) | words[3]
