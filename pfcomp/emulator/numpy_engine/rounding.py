"""Exact sums of two binary64 numbers rounded once to single or half (isa.md 18.1, 18.3).

`total = a + b` in binary64 is rounded to nearest. Rounding it again to a shorter format goes wrong only where `total`
lies exactly half way between two numbers of that format although the exact sum does not; those few lanes are moved
one unit of binary64 towards the exact sum first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.formats import DOUBLE, HALF, SINGLE, FloatFormat

Doubles = NDArray[np.float64]
Lanes = Any  # NDArray of unsigned elements; numpy's own result types are too vague to name
_SINGLE_LEAST = np.uint32(1 << SINGLE.mantissa)
_SINGLE_EXPONENT = np.uint32(SINGLE.infinite << SINGLE.mantissa)
_MAGNITUDE = np.uint32(0x7FFF_FFFF)
_LEAST_ROUNDED_UP = 2.0**-126 - 2.0**-151  # from here on 24 significant bits round to 2^-126


def exact_sum(a: Doubles, b: Doubles, fmt: FloatFormat) -> Doubles:
    """a + b as binary64 such that one more rounding to `fmt` equals a single rounding of the exact sum."""
    total = np.asarray(a + b)
    bits = total.view(np.uint64)
    drop = DOUBLE.mantissa - fmt.mantissa
    half_way = (bits & np.uint64((1 << drop) - 1)) == np.uint64(1 << (drop - 1))
    if half_way.any():
        shape = total.shape
        _nudge(total, np.broadcast_to(a, shape)[half_way], np.broadcast_to(b, shape)[half_way], half_way)
    return total


def _nudge(total: Doubles, a: Doubles, b: Doubles, where: NDArray[np.bool_]) -> None:
    s = total[where]
    part = s - a
    error = (a - (s - part)) + (b - part)  # exact (two-sum)
    outward = ((error > 0) == (s > 0)) & (error != 0)
    inward = ~outward & (error != 0)
    bits = s.view(np.uint64) + outward.astype(np.uint64) - inward.astype(np.uint64)
    total[where] = bits.view(np.float64)


def to_single(total: Doubles) -> Lanes:
    """Round to single: below 2^-126 gives +0, overflow infinity, never -0."""
    bits = total.astype(np.float32).view(np.uint32)
    exponent = bits & _SINGLE_EXPONENT
    bits = bits * (exponent != 0)
    least = (bits & _MAGNITUDE) == _SINGLE_LEAST
    if least.any():
        bits[least & (np.abs(total) < _LEAST_ROUNDED_UP)] = 0
    return bits


def to_half(total: Doubles) -> Lanes:
    """Round to half, as unsigned 16-bit elements, with the same rules."""
    bits = total.view(np.uint64)
    drop = DOUBLE.mantissa - HALF.mantissa
    odd = (bits >> np.uint64(drop)) & np.uint64(1)
    rounded = (bits + np.uint64((1 << (drop - 1)) - 1) + odd) >> np.uint64(drop)
    magnitude = (rounded & np.uint64((1 << (DOUBLE.exponent + HALF.mantissa)) - 1)).astype(np.int64)
    magnitude -= (DOUBLE.bias - HALF.bias) << HALF.mantissa
    infinity = HALF.infinite << HALF.mantissa
    magnitude = np.minimum(magnitude, infinity)
    sign = (bits >> np.uint64(48)).astype(np.int64) & 0x8000
    return np.where(magnitude < (1 << HALF.mantissa), 0, magnitude | sign).astype(np.uint16)
