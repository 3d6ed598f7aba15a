"""Exponential and logarithm, and what is made of them, in double precision."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.casts import small_to_double
from pfcomp.kernels.recipes.double import INF, SIGN, between, inverse, magnitude, signed
from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Value
from pfcomp.kernels.recipes.integer import DOUBLE_MAGIC

LOG2E = 1.4426950408889634
LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
"""ln 2 in two parts; the first has 32 bits, so that its product with an exponent is exact."""

EXP = (
    0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.001388888888888375,
    0.00019841269874815834, 2.480158732554432e-05, 2.7557255406285044e-06, 2.7557273647451087e-07,
    2.5105214474751413e-08, 2.0914685161418067e-09,
)  # fmt: skip
"""(exp(r) - 1 - r) / r^2 for |r| up to ln(2)/2."""

LOG = (
    0.666666666666667, 0.3999999999989924, 0.2857142862609589, 0.2222221111514416, 0.18182890556695602,
    0.1533167403016786, 0.1461703754879165,
)  # fmt: skip
"""(ln((1 + s) / (1 - s)) - 2 s) / s^3 as a polynomial in s^2, for |s| up to 0.172."""

SMALLEST, HIGHEST = -708.396, 710.0
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD


def _reduced(e: Emitter, x: Value) -> tuple[Value, Value]:
    """r and t with x = k ln 2 + r, where the low bits of t are k."""
    t = e.dfma(x, e.d(LOG2E), e.d(DOUBLE_MAGIC))
    k = e.dsub(t, e.d(DOUBLE_MAGIC))
    r = e.dfma(k, e.negated(e.d(LN2_HIGH)), x)
    return e.dfma(k, e.negated(e.d(LN2_LOW)), r), t


def _curve(e: Emitter, r: Value) -> Value:
    """exp(r) - 1."""
    return e.dfma(e.dhorner(r, EXP), e.dmul(r, r), r)


def _scaled(e: Emitter, p: Value, t: Value, keep: int | None = None) -> Value:
    return e.op("ladd", p, e.op("llsl", t, e.word(52)), keep=keep)


def exp(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    raised, normal = e.flagged("dmax", x[0], e.d(SMALLEST))
    r, t = _reduced(e, e.op("dmin", raised, e.d(HIGHEST)))
    return e.op("dmin", _scaled(e, e.dadd(_curve(e, r), e.d(1.0)), t, keep=normal), e.l(INF))


def sigmoid(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    raised, visible = e.flagged("dmax", x[0], e.d(-708.0))
    r, t = _reduced(e, e.op("lxor", e.op("dmin", raised, e.d(708.0)), e.l(SIGN)))
    whole = _scaled(e, e.dadd(_curve(e, r), e.d(1.0)), t)
    return e.op("lpassa", inverse(e, e.dadd(whole, e.d(1.0))), keep=visible)


def tanh(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """m / (2 - m) with m = 1 - exp(-2 |x|)."""
    low = between(e, e.op("lor", x[0], e.l(SIGN)), -20.0, 0.0)
    r, t = _reduced(e, e.dadd(low, low))
    scale = _scaled(e, e.d(1.0), t)
    m = e.dfma(_curve(e, r), e.negated(scale), e.dsub(e.d(1.0), scale))
    divisor = e.dsub(e.d(2.0), m)
    y = inverse(e, divisor)
    q = e.dmul(m, y)
    return signed(e, magnitude(e, e.dfma(e.dfma(e.negated(divisor), q, m), y, q)), x[0])


def log(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """k ln 2 + ln(1 + f), with s = f / (2 + f)."""
    bits = e.op("lsub", x[0], e.l(ROOT_HALF_BITS))
    k = small_to_double(e, e.op("llsr", bits, e.word(52)))
    m = e.op("lsub", x[0], e.op("land", bits, e.l(0xFFF << 52)))
    f = e.dadd(m, e.d(-1.0))
    s = e.dmul(f, inverse(e, e.dadd(f, e.d(2.0))))
    z = e.dmul(s, s)
    half = e.dmul(e.dmul(f, f), e.d(0.5))
    rest = e.dfma(e.dhorner(z, LOG), z, half)
    y = e.dsub(half, e.dfma(s, rest, e.dmul(k, e.d(LN2_LOW))))
    y = e.dfma(k, e.d(LN2_HIGH), e.dsub(f, y))
    y = e.select(e.flag("dmax", x[0], e.l(INF)), e.l(INF), y, "l")
    return e.select(e.flag("dmin", x[0], e.word(0)), e.l(INF | SIGN), y, "l")
