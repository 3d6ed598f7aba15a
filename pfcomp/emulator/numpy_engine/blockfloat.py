"""Block-float normalisation `bfn` and its extended half form `bfe` (isa.md 18.5, 18.6).

Blocks lie inside a MAB: d and h take all elements of LW0 (and of LW1 on their own), g all eight words, f the four
words of the same index. The f block's shape and the +1 rule of short forms are UNCERTAIN (isa.md 24.9).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pfcomp.emulator.formats import DOUBLE, HALF, SINGLE, FloatFormat
from pfcomp.emulator.micro import Format, Micro
from pfcomp.emulator.numpy_engine.access import SHAPE, read, read_low, write
from pfcomp.emulator.numpy_engine.elements import pack, unpack
from pfcomp.emulator.rows import PES
from pfcomp.emulator.state import State, Words

Array = Any  # NDArray; numpy's own result types are too vague to name
FORMATS: dict[int, FloatFormat] = {Format.D: DOUBLE, Format.F: SINGLE, Format.G: SINGLE, Format.H: HALF}
EXTENSION = 6  # exponent distance that a flagged element of `bfe` stands for


def _round_shift(value: Array, count: Array) -> Array:
    """Right shift of uint64 by 0 or more, nearest even; exact for counts up to 63, zero beyond."""
    n = np.minimum(count, 63).astype(np.uint64)
    kept = value >> n
    rest = value - (kept << n)
    half = (np.uint64(1) << n) >> np.uint64(1)
    up = (n > 0) & ((rest > half) | ((rest == half) & ((kept & np.uint64(1)) != 0)))
    return np.where(count > 63, np.uint64(0), kept + up.astype(np.uint64))


def normalise(fields: Array, fmt: FloatFormat, length: int, extended: bool) -> Array:
    """Block-float bits of `fields` (uint64 bit patterns, one block along the last axis)."""
    mb, infinite = fmt.mantissa, fmt.infinite
    short = mb - length if fmt is HALF else 0
    exponent = (fields >> np.uint64(mb)).astype(np.int64) & infinite
    sign = fields & np.uint64(1 << (fmt.bits - 1))
    zero = exponent == 0
    whole = np.where(zero, np.uint64(0), (fields & np.uint64((1 << mb) - 1)) | np.uint64(1 << mb))
    top = exponent.max(axis=-1, keepdims=True)
    rounded = _round_shift(whole, np.full(whole.shape, mb + 1 - length))
    carries = ((exponent == top) & (rounded >= np.uint64(1 << length))).any(axis=-1, keepdims=True)
    common = top + carries
    shift = mb + 1 - length + common - exponent
    field = np.broadcast_to(common + short, exponent.shape)
    if extended:
        shift, field = _extend(whole, exponent, common, shift, field, short, length, mb)
    q = np.where(zero, np.uint64(0), _round_shift(whole, shift))
    if extended:
        field = np.where(q == 0, 0, field)
    left = 0 if fmt is HALF else mb - length
    result = sign | (field.astype(np.uint64) << np.uint64(mb)) | (q << np.uint64(left))
    overflow = common + short >= infinite
    result = np.where(overflow, sign | np.uint64(infinite << mb), result)
    return np.where(top == 0, sign, result)


def _extend(
    whole: Array, exponent: Array, common: Array, shift: Array, field: Array, short: int, length: int, mb: int
) -> tuple[Array, Array]:
    """Elements whose exponent is far below the common one keep six more bits and get exponent field 0."""
    distance = common - exponent
    ones = _round_shift(whole, np.full(whole.shape, mb + 1 - length)) >= np.uint64(1 << length)
    limit = EXTENSION + short
    flagged = (distance >= limit) & ~((distance == limit) & ones)
    return np.where(flagged, shift - EXTENSION, shift), np.where(flagged, 0, field)


def _block(data: Words, letter: int, length: int, extended: bool) -> Words:
    fmt = FORMATS[letter]
    elements = unpack(data, fmt.bits).astype(np.uint64)
    if letter == Format.F:
        by_word = elements.reshape(*elements.shape[:-1], PES, 2).swapaxes(-1, -2)
        result = normalise(by_word, fmt, length, extended).swapaxes(-1, -2).reshape(elements.shape)
    else:
        result = normalise(elements, fmt, length, extended)
    return pack(result, fmt.bits)


def run(state: State, micro: Micro) -> None:
    """Normalise LW0 and, if the destination has it, LW1."""
    letter, length, extended = micro.params
    src, dst = micro.src[0], micro.dst
    if dst is None:
        return
    high = _block(read(state, src.hi), letter, length, bool(extended))
    low = _block(read_low(state, src), letter, length, bool(extended)) if dst.lo else None
    write(state, dst.hi, np.broadcast_to(high, SHAPE))
    if dst.lo and low is not None:
        write(state, dst.lo, np.broadcast_to(low, SHAPE))
