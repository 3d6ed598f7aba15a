"""Elements of tensors on the host and on the device: names, NumPy types, and the conversions between them.

A device element type is carried in a NumPy array of the same width: Half is the chip's 1-6-9 format in uint16, Bool a
32-bit word that is 0 or 1 (isa.md 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# device element type -> NumPy type of the same width that carries it
CARRIERS: dict[str, np.dtype[Any]] = {
    "Half": np.dtype(np.uint16),
    "Float": np.dtype(np.float32),
    "Double": np.dtype(np.float64),
    "Int": np.dtype(np.int32),
    "Long": np.dtype(np.int64),
    "Bool": np.dtype(np.uint32),
}

# torch's name of the host element type -> NumPy type; bfloat16 has none and travels as float32
HOST_TYPES: dict[str, np.dtype[Any]] = {
    "Float": np.dtype(np.float32),
    "Double": np.dtype(np.float64),
    "Half": np.dtype(np.float16),
    "BFloat16": np.dtype(np.float32),
    "Long": np.dtype(np.int64),
    "Int": np.dtype(np.int32),
    "Short": np.dtype(np.int16),
    "Char": np.dtype(np.int8),
    "Byte": np.dtype(np.uint8),
    "Bool": np.dtype(np.bool_),
}

_EXPONENT_GAP = (127 - 31) << 9  # difference of the biases of single and half, at half's exponent position
_SMALLEST, _INFINITE = 1 << 9, 63 << 9


def single_to_half(array: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Chip halves nearest to singles, ties to even; below 2^-30 they become +0, too large ones infinite (isa.md 18)."""
    bits = np.ascontiguousarray(array, dtype=np.float32).view(np.uint32)
    magnitude = (bits & 0x7FFFFFFF).astype(np.int64)
    rounded = (magnitude + 0x1FFF + ((magnitude >> 14) & 1)) >> 14
    half = np.minimum(rounded - _EXPONENT_GAP, _INFINITE)
    sign = ((bits >> 16) & 0x8000).astype(np.int64)
    return np.where(half < _SMALLEST, 0, half | sign).astype(np.uint16)


def half_to_single(array: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The exact values of chip halves; exponent 0 is zero, exponent 63 infinity, whatever the mantissa."""
    bits = array.astype(np.uint32)
    magnitude = bits & 0x7FFF
    single = (magnitude + np.uint32(_EXPONENT_GAP)) << 14
    single = np.where(magnitude < _SMALLEST, np.uint32(0), single)
    single = np.where(magnitude >= _INFINITE, np.uint32(0x7F800000), single)
    return np.asarray(single | ((bits & 0x8000) << 16), dtype=np.uint32).view(np.float32)


def encode(array: Array, dtype: str) -> Array:
    """Host values as carriers of device element type `dtype`; same shape."""
    if dtype == "Half":
        return single_to_half(array.astype(np.float32))
    if dtype == "Bool":
        return (array != 0).astype(np.uint32)
    return array.astype(CARRIERS[dtype], copy=False)


def decode(carriers: Array, dtype: str, torch_dtype: str) -> Array:
    """Carriers of device element type `dtype` as host values of `torch_dtype`; same shape, never the same memory."""
    values = half_to_single(carriers) if dtype == "Half" else carriers
    return values.astype(HOST_TYPES[torch_dtype])
