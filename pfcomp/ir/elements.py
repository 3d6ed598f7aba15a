"""Elements of tensors on the host and on the device: names, NumPy types, and the conversions between them.

A device element type is carried in a NumPy array of the same width: Half is the chip's 1-6-9 format in uint16, Bool a
32-bit word that is 0 or 1 (isa.md 2).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pfcomp.layout.half import half_to_single, single_to_half

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


def encode(array: Array, dtype: str) -> Array:
    """Host values as carriers of device element type `dtype`; same shape."""
    if dtype == "Half":
        return single_to_half(array.astype(np.float32))
    if dtype == "Bool":
        return np.asarray(array != 0, dtype=np.uint32)
    carriers: Array = array.astype(CARRIERS[dtype], copy=False)
    return carriers


def decode(carriers: Array, dtype: str, torch_dtype: str) -> Array:
    """Carriers of device element type `dtype` as host values of `torch_dtype`; same shape, perhaps the same memory."""
    values: Array = half_to_single(carriers) if dtype == "Half" else carriers
    return values.astype(HOST_TYPES[torch_dtype], copy=False)


def pattern(array: Array, dtype: str) -> int:
    """The bits of an array's first element as they lie on the device."""
    carrier = encode(np.asarray(array).reshape(-1)[:1], dtype)
    return int(carrier.view(f"u{carrier.itemsize}")[0])


def element(bits: int, dtype: str) -> int | float | bool:
    """The number with these bits: the inverse of `pattern`."""
    carrier = np.array([bits], f"u{CARRIERS[dtype].itemsize}").view(CARRIERS[dtype])
    number: int | float | bool = decode(carrier, dtype, dtype)[0].item()
    return number
