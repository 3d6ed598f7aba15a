"""The chip's half: 1 sign, 6 exponent (bias 31) and 9 mantissa bits, no denormals, no NaN (isa.md 2)."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_DROPPED = np.uint32(14)  # mantissa bits of a single that a half does not have
_BIAS_GAP = np.uint32((127 - 31) << 9)
_SMALLEST = np.uint32(1 << 9)
_INFINITE = np.uint32(63 << 9)


def single_to_half(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The halves nearest to `values`, ties to even; same shape.

    What is below 2^-30 after rounding becomes +0, what is too large (or NaN) infinite with its sign (isa.md 18.1).
    """
    bits = np.asarray(values, dtype=np.float32).view(np.uint32)
    half = bits & np.uint32(0x7FFFFFFF)
    half += ((half >> _DROPPED) & 1) + np.uint32(0x1FFF)  # below 2^32
    half >>= _DROPPED
    np.clip(half, _BIAS_GAP, _BIAS_GAP + _INFINITE, out=half)
    half -= _BIAS_GAP
    return ((half | ((bits >> 16) & 0x8000)) * (half >= _SMALLEST)).astype(np.uint16)


def half_to_single(halves: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The exact values of `halves`; exponent 0 is zero and exponent 63 infinity, whatever the mantissa; same shape."""
    return _all_singles()[halves]


def float16_to_half(values: NDArray[np.float16]) -> NDArray[np.uint16]:
    """As `single_to_half`; all halves of IEEE binary16 have a table."""
    return _all_from_float16()[values.view(np.uint16)]


def half_to_float16(halves: NDArray[np.uint16]) -> NDArray[np.float16]:
    """The IEEE binary16 nearest to `halves`, infinite beyond its range; same shape."""
    return _all_to_float16()[halves]


@lru_cache(maxsize=1)
def _all_singles() -> NDArray[np.float32]:
    bits = np.arange(1 << 16, dtype=np.uint32)
    magnitude = bits & 0x7FFF
    single = (magnitude + _BIAS_GAP) << _DROPPED
    single[magnitude < _SMALLEST] = 0
    single[magnitude >= _INFINITE] = 0x7F800000
    return (single | ((bits & 0x8000) << 16)).view(np.float32)


@lru_cache(maxsize=1)
def _all_from_float16() -> NDArray[np.uint16]:
    return single_to_half(np.arange(1 << 16, dtype=np.uint16).view(np.float16).astype(np.float32))


@lru_cache(maxsize=1)
def _all_to_float16() -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        return _all_singles().astype(np.float16)
