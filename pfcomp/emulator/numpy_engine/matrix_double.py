"""Matrix times vector in double precision: four approximate 104-bit products summed exactly (isa.md 11.3, 18.7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pfcomp.emulator.formats import DOUBLE, SINGLE
from pfcomp.emulator.numpy_engine import wide
from pfcomp.emulator.numpy_engine.mau_double import EXPONENT, MANTISSA, SIGN, approximate_product, infinite_results
from pfcomp.emulator.numpy_engine.wide import Wide
from pfcomp.emulator.reference.mau import matrix_vector

Array = Any  # NDArray; numpy's own result types are too vague to name
U = np.uint64
_SIZE = 4
_COMPUTED = {1: (0, 1), 2: (2, 3), 0: (0, 1, 2, 3)}  # rows by half select: none, u, d


def _mantissa(bits: Array) -> Array:
    return np.where((bits & EXPONENT) != 0, bits & MANTISSA, U(0))


def _common(bits: Array) -> tuple[Array, Array]:
    """Exponent field of each block (last axis) and whether it is regular."""
    field = (bits >> U(DOUBLE.mantissa)).astype(np.int64) & DOUBLE.infinite
    counts = _mantissa(bits) != 0
    top = np.where(counts, field, 0).max(axis=-1)
    odd = (counts & (field != top[..., None])) | (field == DOUBLE.infinite)
    return top, ~odd.any(axis=-1)


def _sums(bits: Array, x: Array) -> tuple[Array, Array, Array]:
    """Σ_j ±(Ma·Mx) of `[tile][row][MAB][j]` and `[tile][cycle][MAB][j]`: sign and 128-bit magnitude per output."""
    high: Array = U(0) * x[..., :1]
    low = high
    for j in range(_SIZE):
        a = bits[..., j].transpose(0, 2, 1)[:, None]
        b = x[..., j, None]
        part_high, part_low = approximate_product(_mantissa(a), _mantissa(b))
        plus = wide.add(high, low, part_high, part_low)
        minus = wide.subtract(high, low, part_high, part_low)
        negative = ((a ^ b) & SIGN) != 0
        high, low = np.where(negative, minus[0], plus[0]), np.where(negative, minus[1], plus[1])
    negative = (high & SIGN) != 0
    flipped = wide.subtract(U(0) * high, U(0) * low, high, low)
    return negative, np.where(negative, flipped[0], high), np.where(negative, flipped[1], low)


def _addend(y: Array) -> Wide:
    field = (y >> U(DOUBLE.mantissa)).astype(np.int64) & DOUBLE.infinite
    whole = np.where(field != 0, (y & MANTISSA) | U(1 << DOUBLE.mantissa), U(0))
    return wide.normalise(Wide((y & SIGN) != 0, U(0) * whole, whole, field - DOUBLE.bias - DOUBLE.mantissa))


def double_results(bits: Array, x: Array, y: Array | None, half_select: int, narrow: bool) -> Array:
    """Outputs `[tile][cycle][MAB][row]` as double bits, or single bits if `narrow`; rows not selected pass y."""
    computed = np.isin(np.arange(_SIZE), _COMPUTED[half_select])
    bits = np.where(computed[None, :, None, None], bits, U(0))
    row_top, row_regular = _common(bits)
    x_top, x_regular = _common(x)
    negative, high, low = _sums(bits, x)
    bias = DOUBLE.bias + DOUBLE.mantissa - 1
    power = row_top.transpose(0, 2, 1)[:, None] + x_top[..., None] - 2 * bias
    addend = np.zeros((1, 1, 1, 1), U) if y is None else y
    output = SINGLE if narrow else DOUBLE
    total = wide.add_signed(wide.normalise(Wide(negative, high, low, power)), _addend(addend))
    result = infinite_results(np.zeros((1, 1, 1, 1), bool), negative, addend, wide.round_to(total, output), narrow)
    irregular = computed & ~(row_regular.transpose(0, 2, 1)[:, None] & x_regular[..., None])
    full = np.broadcast_to(addend, result.shape)
    for tile, cycle, mab, row in np.argwhere(np.broadcast_to(irregular, result.shape)):
        result[tile, cycle, mab, row] = matrix_vector(
            bits[tile, row, mab].tolist(), x[tile, cycle % x.shape[1], mab].tolist(), int(full[tile, cycle, mab, row]),
            DOUBLE, DOUBLE, output,
        )  # fmt: skip
    return result
