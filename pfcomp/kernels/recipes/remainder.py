"""Quotients and remainders of integers, exact: estimated in double precision, then corrected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pfcomp.kernels.recipes.casts import long_to_double, signed_long, small_to_double
from pfcomp.kernels.recipes.double import inverse, nearest
from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Value
from pfcomp.kernels.recipes.integer import DOUBLE_MAGIC, DOUBLE_MAGIC_BITS, multiply_long
from pfcomp.kernels.recipes.values import Constant, signed_value

Estimate: TypeAlias = Callable[[Emitter, Value, Value], tuple[Value, Value]]


def _known(b: Value) -> int:
    """The number that b is known to be, or 0."""
    return signed_value(b) if isinstance(b, Constant) else 0


def _estimate_int(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """Longs q and r with a = q b + r and |r| <= |b|, for a and b of 32 bits."""
    known = _known(b)
    dividend = small_to_double(e, a)
    divisor = e.d(known) if known else small_to_double(e, b)
    q = e.dfma(dividend, e.d(1 / known) if known else inverse(e, divisor), e.d(DOUBLE_MAGIC))
    whole = e.dsub(q, e.d(DOUBLE_MAGIC))
    r = e.dadd(e.dfma(e.negated(whole), divisor, dividend), e.d(DOUBLE_MAGIC))
    bits = e.l(DOUBLE_MAGIC_BITS)
    return e.op("lsub", q, bits), e.op("lsub", r, bits)


def _estimate_long(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """Longs q and r with a = q b + r and |r| <= |b|: two rounds, products modulo 2^64."""
    known = _known(b)
    y = e.d(1 / known) if known else inverse(e, long_to_double(e, (b,), {}))
    total, r = None, a
    for _ in range(2):
        q = e.op("dftoi", nearest(e, (e.dmul(long_to_double(e, (r,), {}), y),), {}))
        r = e.op("lsub", r, multiply_long(e, (q, b), {}))
        total = q if total is None else e.op("ladd", total, q)
    assert total is not None
    return total, r


def _spread(e: Emitter, x: Value) -> Value:
    """All bits the sign of x."""
    return e.op("llsr", x, e.word(63))


def _wrong(e: Emitter, r: Value, sign: Value) -> Value:
    """All ones where r is not 0 and its sign is not that of `sign`."""
    differs = _spread(e, e.op("lxor", r, sign))
    nonzero = _spread(e, e.op("lor", r, e.op("lsub", e.word(0), r)))
    return e.op("land", differs, nonzero)


def _quotient(e: Emitter, a: Value, b: Value, estimate: tuple[Value, Value]) -> Value:
    """Rounded towards zero: a remainder of the wrong sign means that the quotient is too large by one."""
    q, r = estimate
    step = e.op("lor", _spread(e, e.op("lxor", a, b)), e.l(1))
    return e.op("lsub", q, e.op("land", step, _wrong(e, r, a)))


def _remainder(e: Emitter, a: Value, b: Value, r: Value, attributes: Attributes) -> Value:
    """With the sign of b, or that of a for fmod."""
    if not attributes.get("fmod", 0):
        return e.op("ladd", r, e.op("land", b, _wrong(e, r, b)))
    flip = _spread(e, e.op("lxor", a, b))
    step = e.op("lsub", e.op("lxor", b, flip), flip)
    return e.op("ladd", r, e.op("land", step, _wrong(e, r, a)))


def _long_of(e: Emitter, x: Value) -> Value:
    """The Int in the high word as a Long; a constant stays one."""
    return e.l(signed_value(Constant(x.bits >> 32), 32)) if isinstance(x, Constant) else signed_long(e, x)


def _power_of_two(b: Value) -> int | None:
    """The exponent if b is known and a power of two."""
    number = _known(b)
    return number.bit_length() - 1 if number > 0 and number & (number - 1) == 0 else None


def _divide(e: Emitter, a: Value, b: Value, estimate: Estimate) -> Value:
    shift = _power_of_two(b)
    if shift is None:
        return _quotient(e, a, b, estimate(e, a, b))
    rounding = e.op("land", _spread(e, a), e.l((1 << shift) - 1))
    return e.op("llsr", e.op("ladd", a, rounding), e.word(shift))


def _modulo(e: Emitter, a: Value, b: Value, estimate: Estimate, attributes: Attributes) -> Value:
    shift = _power_of_two(b)
    if shift is None or attributes.get("fmod", 0):
        return _remainder(e, a, b, estimate(e, a, b)[1], attributes)
    return e.op("land", a, e.l((1 << shift) - 1))


def divide_int(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return _divide(e, signed_long(e, x[0]), _long_of(e, x[1]), _estimate_int)


def modulo_int(e: Emitter, x: Sequence[Value], attributes: Attributes) -> Value:
    return _modulo(e, signed_long(e, x[0]), _long_of(e, x[1]), _estimate_int, attributes)


def divide_long(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return _divide(e, x[0], x[1], _estimate_long)


def modulo_long(e: Emitter, x: Sequence[Value], attributes: Attributes) -> Value:
    return _modulo(e, x[0], x[1], _estimate_long, attributes)
