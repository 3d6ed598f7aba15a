"""Vector MAU operations on single lanes, and on half operands held as singles (isa.md 10, 18.1 to 18.3).

A lane is a 32-bit element; arrays are `[tile][cycle 4 or 1][2·PE]`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pfcomp.emulator.formats import HALF, SINGLE
from pfcomp.emulator.infinity import CANCELLED_BITS
from pfcomp.emulator.micro import VectorOp
from pfcomp.emulator.numpy_engine.rounding import Doubles, exact_sum, to_half, to_single

Lanes = Any  # NDArray of unsigned elements; numpy's own result types are too vague to name
EXPONENT = np.uint32(SINGLE.infinite << SINGLE.mantissa)
SIGN = np.uint32(0x8000_0000)
ONE = np.uint32(SINGLE.bias << SINGLE.mantissa)
LOW_BITS = 5  # isa.md 18.2: the product of the low five bits of both mantissas is replaced by a constant
_LOW = np.uint32((1 << LOW_BITS) - 1)
# By that product: what to add in units of the last places of both factors. 2^-46 scales them below 1.m · 1.m.
_CORRECTION = np.array([0] + [2 ** (2 * LOW_BITS - 2) - lo for lo in range(1, 31 * 31 + 1)], np.float64) * 2.0**-46


def clean(bits: Lanes) -> Lanes:
    """Exponent-0 patterns become +0."""
    return bits * ((bits & EXPONENT) != 0)


def as_double(bits: Lanes) -> Any:
    """Values of single lanes."""
    return bits.view(np.float32).astype(np.float64)


def product(x: Lanes, y: Lanes, approximate: bool) -> Lanes:
    """x·y of clean lanes, exact in binary64, with the chip's approximation if asked for."""
    result = as_double(x) * as_double(y)
    if approximate:
        low = (x & _LOW) * (y & _LOW)
        if low.any():
            powers = as_double(x & (EXPONENT | SIGN)) * as_double(y & (EXPONENT | SIGN))
            result = result + _CORRECTION[low] * powers
    return result


def _is_infinite(bits: Lanes) -> Lanes:
    return (bits & EXPONENT) == EXPONENT


def _infinite_results(x: Lanes, y: Lanes, z: Lanes, finite: Lanes) -> Lanes:
    """x·y + z as single bits for lanes in which an operand may be infinite; `finite` where none is."""
    some_zero = ((x & EXPONENT) == 0) | ((y & EXPONENT) == 0)
    product_infinite = (_is_infinite(x) | _is_infinite(y)) & ~some_zero  # inf·0 = 0
    sign, z_infinite = (x ^ y) & SIGN, _is_infinite(z)
    opposite = (sign != (z & SIGN)) & product_infinite & z_infinite
    result = np.where(z_infinite, (z & SIGN) | EXPONENT, finite)
    result = np.where(product_infinite, sign | EXPONENT, result)
    lone_addend = some_zero & ~z_infinite
    result = np.where(lone_addend & (_is_infinite(x) | _is_infinite(y)), clean(z), result)
    return np.where(opposite, np.uint32(CANCELLED_BITS), result)


def _fix(bits: Lanes, where: Lanes, operands: tuple[Lanes, Lanes, Lanes]) -> None:
    x, y, z = (np.broadcast_to(o, bits.shape)[where] for o in operands)
    bits[where] = _infinite_results(x, y, z, bits[where])


def _add_singles(x: Lanes, z: Lanes) -> Lanes:
    """x + z, one IEEE addition with everything denormal flushed."""
    bits = np.asarray(clean(x).view(np.float32) + clean(z).view(np.float32)).view(np.uint32)
    exponent = bits & EXPONENT
    bits = bits * (exponent != 0)
    where = exponent == EXPONENT
    if where.any():
        _fix(bits, where, (x, np.broadcast_to(ONE, x.shape), z))
    return bits


def _total(op: VectorOp, x: Lanes, y: Lanes, z: Lanes, approximate: bool) -> tuple[Doubles, Doubles | None]:
    if op == VectorOp.MUL:
        return product(clean(x), clean(y), approximate), None
    addend = as_double(clean(z))
    if op == VectorOp.FMA:
        return product(clean(x), clean(y), approximate), addend
    return as_double(clean(x)), addend


def vector(op: VectorOp, operands: list[Lanes], approximate: bool, narrow: bool) -> Lanes:
    """One vector operation on single lanes: uint32 results, or uint16 half results if `narrow`."""
    x = operands[0]
    if op == VectorOp.PASSA:
        operands = [x, np.zeros((1, 1, 1), np.uint32)]
    z = operands[-1] if op != VectorOp.MUL else np.zeros((1, 1, 1), np.uint32)
    y = operands[1] if op in (VectorOp.FMA, VectorOp.MUL) else np.full((1, 1, 1), ONE)
    if op in (VectorOp.ADD, VectorOp.PASSA) and not narrow:
        return _add_singles(x, z)
    a, b = _total(op, x, y, z, approximate)
    fmt = HALF if narrow else SINGLE
    total = exact_sum(a, np.zeros((1, 1, 1)) if b is None else b, fmt)
    where = ~np.isfinite(total)
    result = to_half(total) if narrow else to_single(total)
    if where.any():
        _fix_total(result, where, (x, y, z), narrow)
    return result


def _fix_total(result: Lanes, where: Lanes, operands: tuple[Lanes, Lanes, Lanes], narrow: bool) -> None:
    x, y, z = (np.broadcast_to(o, result.shape)[where] for o in operands)
    finite = np.zeros(x.shape, np.uint32)
    bits = _infinite_results(x, y, z, finite)
    if not narrow:
        result[where] = bits
        return
    result[where] = to_half(as_double(bits))
