"""ALU operations that look into floating-point fields (isa.md 9.2 to 9.5); arrays of unsigned elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from pfcomp.emulator.formats import BY_BITS
from pfcomp.emulator.rsqrt import INFINITE_RESULT_IS_INFINITE, TABLE_EVEN, TABLE_ODD, ZERO_RESULT_IS_INFINITE

Lanes = Any  # NDArray of unsigned elements; numpy's own result types are too vague to name
_SIGNED: dict[int, Any] = {64: np.int64, 32: np.int32, 16: np.int16}
_TABLE = np.array(TABLE_EVEN + TABLE_ODD, np.int64)


def _fields(x: Lanes, bits: int) -> tuple[Lanes, Lanes, Lanes]:
    """Sign bit in place, exponent and mantissa fields, as elements of the same type."""
    fmt, kind = BY_BITS[bits], x.dtype.type
    exponent = (x >> kind(fmt.mantissa)) & kind(fmt.infinite)
    return x & kind(1 << (bits - 1)), exponent, x & kind((1 << fmt.mantissa) - 1)


def scale_if_negative(x: Lanes, y: Lanes, bits: int, power: int) -> Lanes:
    """`lrelud`, `lreluo`, `ilrelud`: y where the sign bit of x is 0, else y·2^power.

    Zero and infinity stay, underflow gives zero with the sign, overflow infinity (isa.md 9.2, UNCERTAIN).
    """
    fmt, kind = BY_BITS[bits], x.dtype.type
    sign, exponent, _ = _fields(y, bits)
    special = (exponent == 0) | (exponent == kind(fmt.infinite))
    if power < 0:
        scaled = np.where(exponent > kind(-power), y - kind(-power << fmt.mantissa), sign)
    else:
        limit = kind(fmt.infinite << fmt.mantissa)
        scaled = np.where(exponent < kind(fmt.infinite - power), y + kind(power << fmt.mantissa), sign | limit)
    negative = (x >> kind(bits - 1)) != 0
    return np.where(negative & ~special, scaled, y)


def rsqrt(x: Lanes, bits: int) -> Lanes:
    """The 5-bit seed of 1/sqrt(|x|) from the table in `pfcomp.emulator.rsqrt` (isa.md 9.4)."""
    fmt, kind = BY_BITS[bits], x.dtype.type
    _, field, mantissa = _fields(x, bits)
    exponent = field.astype(np.int64) - fmt.bias
    index = (mantissa >> kind(fmt.mantissa - 4)).astype(np.int64) + 16 * (exponent & 1)
    seed = (_TABLE[index] - 32) << (fmt.mantissa - 5)
    result = ((fmt.bias - 1 - (exponent >> 1)) << fmt.mantissa) | seed
    infinity = fmt.infinite << fmt.mantissa
    result = np.where(field == 0, ZERO_RESULT_IS_INFINITE * infinity, result)
    result = np.where(field == kind(fmt.infinite), INFINITE_RESULT_IS_INFINITE * infinity, result)
    return result.astype(x.dtype)


def floor(x: Lanes, bits: int) -> Lanes:
    """Round towards minus infinity; infinities pass, zeros keep their sign and lose their mantissa (isa.md 9.2)."""
    fmt, kind = BY_BITS[bits], x.dtype.type
    sign, field, mantissa = _fields(x, bits)
    exponent = field.astype(np.int64) - fmt.bias
    fraction_bits = np.clip(fmt.mantissa - exponent, 0, fmt.mantissa).astype(x.dtype)
    fraction = (kind(1) << fraction_bits) - kind(1)
    negative = sign != 0
    carry = np.where(negative & ((mantissa & fraction) != 0), fraction + kind(1), kind(0))
    result = (x + carry) & ~fraction
    below_one = np.where(negative, sign | kind(fmt.bias << fmt.mantissa), kind(0))
    result = np.where(exponent < 0, below_one, result)
    return np.where(field == 0, sign, result)


def to_integer(x: Lanes, bits: int, unsigned: int) -> Lanes:
    """`ftoi`: towards zero, saturating; unsigned converts |x| (isa.md 9.2, 9.5)."""
    fmt, kind = BY_BITS[bits], x.dtype.type
    sign, field, mantissa = _fields(x, bits)
    exponent = field.astype(np.int64) - fmt.bias
    whole = mantissa | kind(1 << fmt.mantissa)
    left = np.clip(exponent - fmt.mantissa, 0, bits - 1 - fmt.mantissa).astype(x.dtype)
    right = np.clip(fmt.mantissa - exponent, 0, bits - 1).astype(x.dtype)
    magnitude = np.where(exponent < 0, kind(0), (whole << left) >> right)
    if unsigned:
        return np.where(exponent >= bits, ~kind(0), magnitude)
    negative = sign != 0
    top = kind(1 << (bits - 1))
    extreme = np.where(negative, top, top - kind(1))
    return np.where(exponent >= bits - 1, extreme, np.where(negative, kind(0) - magnitude, magnitude))


def choose(x: Lanes, y: Lanes, bits: int, larger: bool) -> Lanes:
    """`max`, `min` of floats: zeros of either sign and any exponent-0 pattern are equal, ties take x (isa.md 9.3)."""
    a, b = _order(x, bits), _order(y, bits)
    return np.where(b > a if larger else b < a, y, x)


def _order(x: Lanes, bits: int) -> Lanes:
    """A signed integer that sorts like the number; infinities of one sign sort by their mantissa bits."""
    kind = x.dtype.type
    sign, field, _ = _fields(x, bits)
    magnitude = (x & kind((1 << (bits - 1)) - 1)).view(_SIGNED[bits])
    return np.where(field == 0, 0, np.where(sign != 0, -magnitude, magnitude)).astype(_SIGNED[bits])
