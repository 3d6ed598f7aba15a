"""Vector MAU operations on doubles (isa.md 10, 18.1 to 18.3); arrays of uint64 `[tile][cycle 4 or 1][PE]`."""

from __future__ import annotations

from typing import Any

import numpy as np

from pfcomp.emulator.formats import DOUBLE, SINGLE
from pfcomp.emulator.infinity import CANCELLED_BITS
from pfcomp.emulator.micro import VectorOp
from pfcomp.emulator.numpy_engine import wide
from pfcomp.emulator.numpy_engine.wide import Wide
from pfcomp.emulator.rows import PES

Array = Any  # NDArray; numpy's own result types are too vague to name
U = np.uint64
EXPONENT = U(DOUBLE.infinite << DOUBLE.mantissa)
SIGN = U(1 << 63)
MANTISSA = U((1 << DOUBLE.mantissa) - 1)
HIDDEN = U(1 << DOUBLE.mantissa)
LOW_BITS = 16  # isa.md 18.2
_LOW = U((1 << LOW_BITS) - 1)
_REPLACEMENT = U(1 << (2 * LOW_BITS - 2))


def approximate_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The chip's product of two 53-bit integers as 128 bits: the low 16·16 bit part becomes 2^30 unless zero."""
    high, low = wide.multiply(a, b)
    part = (a & _LOW) * (b & _LOW)
    high, low = wide.subtract(high, low, U(0) * part, part)
    return wide.add(high, low, U(0) * part, np.where(part != 0, _REPLACEMENT, U(0)))


def _field(bits: Array) -> Array:
    return (bits >> U(DOUBLE.mantissa)).astype(np.int64) & DOUBLE.infinite


def _integer(bits: Array) -> Array:
    return np.where((bits & EXPONENT) != 0, (bits & MANTISSA) | HIDDEN, U(0))


def _wide_product(x: Array, y: Array) -> Wide:
    high, low = approximate_product(_integer(x), _integer(y))
    exponent = _field(x) + _field(y) - 2 * (DOUBLE.bias + DOUBLE.mantissa)
    return wide.normalise(Wide(((x ^ y) & SIGN) != 0, high, low, exponent))


def _wide(bits: Array) -> Wide:
    mantissa = _integer(bits)
    exponent = _field(bits) - DOUBLE.bias - DOUBLE.mantissa
    return wide.normalise(Wide((bits & SIGN) != 0, U(0) * mantissa, mantissa, exponent))


def _infinite(bits: Array) -> Array:
    return (bits & EXPONENT) == EXPONENT


def infinite_results(product_infinite: Array, negative: Array, z: Array, result: Array, narrow: bool) -> Array:
    """Put the results of infinite products and addends in place of `result` (isa.md 18.3)."""
    fmt = SINGLE if narrow else DOUBLE
    infinity, top = U(fmt.infinite << fmt.mantissa), fmt.bits - 1
    z_infinite, z_negative = _infinite(z), (z & SIGN) != 0
    result = np.where(z_infinite, (z_negative.astype(U) << U(top)) | infinity, result)
    result = np.where(product_infinite, (negative.astype(U) << U(top)) | infinity, result)
    return np.where(product_infinite & z_infinite & (negative != z_negative), U(CANCELLED_BITS), result)


def computing(half_select: int, shape: tuple[int, ...]) -> Array:
    """PEs whose products count: 0 and 1 of each MAB for `u`, 2 and 3 for `d`, all otherwise (isa.md 10)."""
    pe = np.arange(shape[-1]) % PES
    return {0: pe >= 0, 1: pe < 2, 2: pe >= 2}[half_select]


def _add(x: Array, z: Array) -> Array:
    """x + z in one IEEE addition with everything denormal flushed."""
    a, b = x * ((x & EXPONENT) != 0), z * ((z & EXPONENT) != 0)
    bits = np.asarray(a.view(np.float64) + b.view(np.float64)).view(U)
    return np.asarray(bits * ((bits & EXPONENT) != 0))


def vector(op: VectorOp, operands: list[Array], half_select: int, narrow: bool) -> Array:
    """One vector operation; results are double bits, or single bits in the low word if `narrow`."""
    x = operands[0]
    nothing = np.zeros((1, 1, 1), U)
    z = operands[-1] if op in (VectorOp.FMA, VectorOp.ADD) else nothing
    if op in (VectorOp.ADD, VectorOp.PASSA):
        infinite, negative = _infinite(x), (x & SIGN) != 0
        result = wide.round_to(wide.add_signed(_wide(x), _wide(z)), SINGLE) if narrow else _add(x, z)
    else:
        y = operands[1]
        counts = computing(half_select, np.broadcast_shapes(x.shape, y.shape))
        x = np.where(counts, x, U(0))
        some_zero = ((x & EXPONENT) == 0) | ((y & EXPONENT) == 0)
        infinite, negative = (_infinite(x) | _infinite(y)) & ~some_zero, ((x ^ y) & SIGN) != 0
        total = wide.add_signed(_wide_product(x, y), _wide(z))
        result = wide.round_to(total, SINGLE if narrow else DOUBLE)
    return infinite_results(infinite, negative, z, result, narrow)
