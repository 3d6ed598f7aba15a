"""Long words as elements in their logical order inside a MAB: `[tile 8][cycle or row][MAB 128][element]`.

Element order is PE by PE, and from the most significant side inside a PE (isa.md 11.3).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pfcomp.emulator.rows import PES
from pfcomp.emulator.state import Words

Array = Any  # NDArray; numpy's own result types are too vague to name
_KINDS: dict[int, Any] = {64: np.uint64, 32: np.uint32, 16: np.uint16}


def unpack(data: Words, bits: int) -> Array:
    """LW0 of every PE as elements of `bits`."""
    tiles, cycles, pes = data.shape
    count = 64 // bits
    raw = np.ascontiguousarray(data).view(_KINDS[bits]).reshape(tiles, cycles, pes, count)
    return raw[..., ::-1].reshape(tiles, cycles, pes // PES, PES * count)


def pack(elements: Array, bits: int) -> Words:
    """The opposite of `unpack`."""
    tiles, cycles, mabs, width = elements.shape
    count = width // PES
    raw = elements.reshape(tiles, cycles, mabs * PES, count)[..., ::-1]
    return np.ascontiguousarray(raw, dtype=_KINDS[bits]).view(np.uint64).reshape(tiles, cycles, mabs * PES)


def unpack4(high: Words, low: Words) -> Array:
    """The four words of every PE as 32-bit elements (single addends of half operations)."""
    tiles, cycles, pes = np.broadcast_shapes(high.shape, low.shape)
    words = [np.broadcast_to(part, (tiles, cycles, pes)) for part in (high, low)]
    raw = np.stack([w >> np.uint64(s) for w in words for s in (32, 0)], axis=-1).astype(np.uint32)
    return raw.reshape(tiles, cycles, pes // PES, 4 * PES)


def pack4(elements: Array) -> tuple[Words, Words]:
    """The opposite of `unpack4`: LW0 and LW1."""
    tiles, cycles, mabs, _ = elements.shape
    raw = elements.reshape(tiles, cycles, mabs * PES, 4).astype(np.uint64)
    high = (raw[..., 0] << np.uint64(32)) | raw[..., 1]
    return high, (raw[..., 2] << np.uint64(32)) | raw[..., 3]


def pack_narrow(elements: Array, bits: int) -> Words:
    """Narrowed results, `bits` wide, of one LW0's worth of elements: packed from the top of LW0, rest zero."""
    tiles, cycles, mabs, width = elements.shape
    raw = elements.reshape(tiles, cycles, mabs * PES, width // PES).astype(np.uint64)
    result = np.zeros(raw.shape[:-1], np.uint64)
    for index in range(raw.shape[-1]):
        result |= raw[..., index] << np.uint64(64 - bits * (index + 1))
    return result
