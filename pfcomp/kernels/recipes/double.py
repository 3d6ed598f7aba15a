"""Double precision: one element in each long word, products in two operations (isa.md 10)."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.emitter import SIGN_BITS, Attributes, Emitter, Value
from pfcomp.kernels.recipes.values import LONG

SIGN = 1 << 63
INF = 0x7FF << 52
SEED = 0x7FDE600000000000
"""Minus the bits of x, this is 1/x within 5.1 %, signs included."""
FIRST = 2.00132
LARGEST = 2.0**1022
WHOLE_BITS = 0x433 << 52
"""2^52: from here on every double is a whole number."""


def magnitude(e: Emitter, x: Value) -> Value:
    """x without its sign."""
    return e.op("land", x, e.l(LONG >> 1))


def signed(e: Emitter, x: Value, sign: Value) -> Value:
    """x with its sign flipped where `sign` is negative."""
    return e.op("lxor", x, e.op("land", sign, e.l(SIGN)))


def neg(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("lxor", SIGN_BITS, x[0])


def absolute(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return magnitude(e, x[0])


def relu(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("dmax", x[0], e.word(0))


def between(e: Emitter, x: Value, low: float, high: float) -> Value:
    """x, or the bound that it exceeds."""
    return e.op("dmin", e.op("dmax", x, e.d(low)), e.d(high))


def sign(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return between(e, e.dmul(x[0], e.d(float("inf"))), -1.0, 1.0)


def sub(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.dsub(x[0], x[1])


def mul(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.dmul(x[0], x[1])


def floor(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("dfloor", x[0])


def ceil(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("dvpassa", e.negated(e.op("dfloor", e.op("dvpassa", e.negated(x[0])))))


def nearest(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """Half to even, as in single precision."""
    magic = e.op("lor", e.op("land", x[0], e.l(SIGN)), e.l(WHOLE_BITS))
    whole = e.flag("dmax", magnitude(e, x[0]), e.l(WHOLE_BITS))
    return e.select(whole, x[0], e.dsub(e.dadd(x[0], magic), magic), "l")


def inverse(e: Emitter, x: Value) -> Value:
    """1/x for |x| up to `LARGEST`, infinite for zeros: a Newton step, a cubic and a quadratic one."""
    seed = e.op("lsub", e.l(SEED), x)
    y = e.dmul(seed, e.dfma(e.negated(x), seed, e.d(FIRST)))
    h = e.dfma(e.negated(x), y, e.d(1.0))
    y = e.dfma(y, e.dfma(h, h, h), y)
    return e.dfma(y, e.dfma(e.negated(x), y, e.d(1.0)), y)


def reciprocal(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return inverse(e, between(e, x[0], -LARGEST, LARGEST))


def divide(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    a, b = x[0], between(e, x[1], -LARGEST, LARGEST)
    y = inverse(e, b)
    q = e.dmul(a, y)
    r = e.dfma(e.negated(b), q, a)
    infinite = e.flag("dmax", magnitude(e, q), e.l(INF))
    return e.select(infinite, q, e.dfma(r, y, q), "l")


def sqrt(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """From the table: two cubic steps for 1/sqrt(x) and a quadratic one for the root."""
    a = e.op("dmax", x[0], e.word(0))
    y = e.op("drsqrt", a)
    for _step in range(2):
        h = e.dfma(e.negated(e.dmul(a, y)), y, e.d(1.0))
        y = e.dfma(e.dfma(h, e.d(0.375), e.d(0.5)), e.dmul(h, y), y)
    s = e.dmul(a, y)
    h = e.dfma(e.negated(s), y, e.d(1.0))
    s = e.dfma(e.op("dlrelud", SIGN_BITS, s), h, s)
    return e.select(e.flag("dmax", a, e.l(INF)), e.l(INF), s, "l")


def is_inf(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    positive, negative = bool(a.get("detect_positive", 1)), bool(a.get("detect_negative", 1))
    if not positive and not negative:
        return e.op("lpassa", e.word(0))
    one_sign = x[0] if positive else neg(e, x, a)
    tested = magnitude(e, x[0]) if positive and negative else one_sign
    return e.op("lpassa", e.l(1), keep=e.flag("dmax", tested, e.l(INF)))
