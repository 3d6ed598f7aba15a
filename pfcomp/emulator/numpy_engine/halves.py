"""Half-precision elements (1-6-9 bits) and operand conversions between precisions (isa.md 2, 10)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.formats import HALF, SINGLE
from pfcomp.emulator.micro import Conversion, Micro
from pfcomp.emulator.numpy_engine.access import SHAPE, read, read_low, write
from pfcomp.emulator.rows import Value
from pfcomp.emulator.state import State, Words

Lanes = Any  # NDArray of unsigned elements; numpy's own result types are too vague to name


def _table() -> NDArray[np.uint32]:
    """Single bits of every half: exact; exponent 0 gives a signed zero, all ones an infinity with its mantissa."""
    half = np.arange(1 << 16, dtype=np.uint32)
    field = (half >> np.uint32(HALF.mantissa)) & np.uint32(HALF.infinite)
    sign = (half >> np.uint32(15)) << np.uint32(31)
    body = (half & np.uint32(0x7FFF)) << np.uint32(SINGLE.mantissa - HALF.mantissa)
    body = body + np.uint32((SINGLE.bias - HALF.bias) << SINGLE.mantissa)
    body = np.where(field == HALF.infinite, body | np.uint32(SINGLE.infinite << SINGLE.mantissa), body)
    return (sign | np.where(field == 0, 0, body)).astype(np.uint32)


TO_SINGLE = _table()


def split_halves(data: Words) -> tuple[Lanes, Lanes]:
    """Four halves of each long word as singles: (h0, h1) laid out like LW0 and (h2, h3) like LW1, 32-bit lanes."""
    singles = TO_SINGLE[np.ascontiguousarray(data).view(np.uint16)]
    pairs = singles.reshape(*data.shape, 2, 2)
    flat = (*data.shape[:-1], 2 * data.shape[-1])
    return pairs[..., 1, :].reshape(flat), pairs[..., 0, :].reshape(flat)


def join_halves(first: Lanes, second: Lanes) -> Words:
    """The opposite for 16-bit lanes: (h0, h1) and (h2, h3) to one long word."""
    first, second = np.broadcast_arrays(first, second)  # one of them may hold a single cycle
    shape = (*first.shape[:-1], first.shape[-1] // 2)
    pairs = np.stack([second.reshape(*shape, 2), first.reshape(*shape, 2)], axis=-2)
    flat = np.ascontiguousarray(pairs.astype(np.uint16)).reshape(*shape[:-1], 4 * shape[-1])
    return flat.view(np.uint64)


def pack_pair(lanes: Lanes) -> Words:
    """Two halves of each long word, given as 16-bit lanes like w0, w1, packed into w0."""
    pairs = np.ascontiguousarray(lanes.astype(np.uint16)).view(np.uint32)
    return pairs.astype(np.uint64) << np.uint64(32)


def round_to_half(singles: Lanes) -> Lanes:
    """Operand suffix `r`: nearest even, below range to +0, infinity stays (isa.md 18.3)."""
    drop = SINGLE.mantissa - HALF.mantissa
    odd = (singles >> np.uint32(drop)) & np.uint32(1)
    magnitude = singles & np.uint32(0x7FFF_FFFF)
    rounded = (magnitude + np.uint32((1 << (drop - 1)) - 1) + odd) >> np.uint32(drop)
    value = rounded.astype(np.int64) - ((SINGLE.bias - HALF.bias) << HALF.mantissa)
    infinity = HALF.infinite << HALF.mantissa
    value = np.where(magnitude >= np.uint32(SINGLE.infinite << SINGLE.mantissa), infinity, np.minimum(value, infinity))
    sign = (singles >> np.uint32(16)) & np.uint32(0x8000)
    return np.where(value < (1 << HALF.mantissa), 0, value | sign).astype(np.uint16)


def _to_double(singles: Lanes) -> Lanes:
    """Double bits of single lanes; exponent 0 gives a signed zero, all ones infinity with its mantissa."""
    wide = singles.astype(np.uint64)
    field = (wide >> np.uint64(23)) & np.uint64(0xFF)
    sign = (wide >> np.uint64(31)) << np.uint64(63)
    body = ((wide & np.uint64(0x7FFF_FFFF)) << np.uint64(29)) + np.uint64(896 << 52)
    body = np.where(field == 255, body | np.uint64(0x7FF << 52), body)
    return np.asarray(sign | np.where(field == 0, np.uint64(0), body))


def convert(state: State, micro: Micro) -> None:
    """Operand suffixes: one of `Conversion`."""
    kind, src = micro.params[0], micro.src[0]
    if micro.dst:
        high, low = _convert(state, Conversion(kind), src)
        write(state, micro.dst.hi, np.broadcast_to(high, SHAPE))
        if micro.dst.lo and low is not None:
            write(state, micro.dst.lo, np.broadcast_to(low, SHAPE))


def _convert(state: State, kind: Conversion, src: Value) -> tuple[Words, Words | None]:
    data = read(state, src.hi)
    if kind == Conversion.SINGLE_TO_DOUBLE:
        return _to_double(data >> np.uint64(32)), None
    if kind == Conversion.SINGLE4_TO_HALF4:
        low = np.broadcast_to(read_low(state, src), data.shape)
        first = round_to_half(np.ascontiguousarray(data).view(np.uint32))
        return join_halves(first, round_to_half(np.ascontiguousarray(low).view(np.uint32))), None
    first, second = split_halves(data)
    high = np.ascontiguousarray(first).view(np.uint64)
    if kind == Conversion.HALF2_TO_SINGLE2:
        return high, None
    return high, np.ascontiguousarray(second).view(np.uint64)


def negate(state: State, micro: Micro) -> None:
    """Flip the sign of every element of a value (mwrite source)."""
    signs = {64: 1 << 63, 32: 0x8000_0000_8000_0000, 16: 0x8000_8000_8000_8000}[micro.params[0]]
    src, dst = micro.src[0], micro.dst
    if dst:
        write(state, dst.hi, np.broadcast_to(read(state, src.hi) ^ np.uint64(signs), SHAPE))
        if dst.lo:
            write(state, dst.lo, np.broadcast_to(read_low(state, src) ^ np.uint64(signs), SHAPE))
