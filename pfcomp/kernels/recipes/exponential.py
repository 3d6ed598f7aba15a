"""The exponential and what is made of it, in single precision (backend-kernels.md 2.2)."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.division import INF, clamped, inverse, quotient
from pfcomp.kernels.recipes.emitter import SIGN, Attributes, Emitter, Value

MAGIC = 12582912.0
"""1.5 * 2^23: added to a number below 2^22, it leaves the nearest integer in the low bits."""
MAGIC_BITS = 0x4B400000

LOG2E = 1.44269504
LN2_HIGH, LN2_LOW = 0.693145751953125, 1.42860677e-06
"""ln 2 in two parts; the product of an exponent with the first is exact."""

EXP = (0.49999994039535522, 0.16666521131992340, 0.04166838899254799, 0.008368736132979393, 0.001381455920636654)
"""(exp(r) - 1 - r) / r^2 for |r| up to ln(2)/2."""

SMALLEST = -87.3365
"""exp is below the smallest normal number here."""
HIGHEST = 89.0

ERF = (
    1.128379225730896, 0.6366152763366699, 0.10282658785581589, -0.019366290420293808,
    0.0002802251256071031, 0.001190614653751254, -0.0003571668057702482, 3.719836240634322e-05,
)  # fmt: skip
"""-ln(1 - erf(x)) / x for x up to `ERF_END`, where erf rounds to 1."""
ERF_END = 3.95

SINH = (0.1666666716337204, 0.008333311416208744, 0.00019842635083477944, 2.7839255380968098e-06)
"""(sinh(x) / x - 1) / x^2 as a polynomial in x^2, for |x| up to 1."""


def reduced(e: Emitter, x: Value) -> tuple[Value, Value]:
    """r and t with x = k ln 2 + r, where the low bits of t are k."""
    t = e.fma(x, e.f(LOG2E), e.f(MAGIC))
    k = e.sub(t, e.f(MAGIC))
    r = e.fma(k, e.negated(e.f(LN2_HIGH)), x)
    return e.fma(k, e.negated(e.f(LN2_LOW)), r), t


def power(e: Emitter, r: Value) -> Value:
    """exp(r)."""
    one = e.f(1.0)
    return e.fma(e.fma(e.horner(r, EXP), r, one), r, one)


def scaled(e: Emitter, p: Value, t: Value, keep: int | None = None) -> Value:
    """p * 2^k by an addition to the exponent; the exponent of `MAGIC` is shifted out."""
    return e.op("iadd", p, e.op("ilsl", t, e.word(23)), keep=keep)


def tidy(e: Emitter, x: Value) -> Value:
    """x without a mantissa if it is infinite."""
    return e.op("fmin", x, e.word(INF))


def exp(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    raised, normal = e.flagged("fmax", x[0], e.f(SMALLEST))
    r, t = reduced(e, e.op("fmin", raised, e.f(HIGHEST)))
    return tidy(e, scaled(e, power(e, r), t, keep=normal))


def expm1(e: Emitter, x: Value, negate: bool = False) -> Value:
    """exp(x) - 1, or 1 - exp(x), for x from -87 to 88.37."""
    r, t = reduced(e, x)
    p = e.fma(e.horner(r, EXP), e.mul(r, r), r)
    s = scaled(e, e.f(1.0), t)
    less = e.sub(s, e.f(1.0))
    if negate:
        return e.fma(p, e.negated(s), e.negated(less))
    return e.fma(p, s, less)


def sigmoid(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    raised, visible = e.flagged("fmax", x[0], e.f(-87.0))
    r, t = reduced_negative(e, e.op("fmin", raised, e.f(87.0)))
    y = inverse(e, e.add(scaled(e, power(e, r), t), e.f(1.0)))
    return e.op("lpassa", y, keep=visible)


def reduced_negative(e: Emitter, x: Value) -> tuple[Value, Value]:
    """`reduced` of -x: the signs are on the constants and ports."""
    t = e.fma(x, e.f(-LOG2E), e.f(MAGIC))
    k = e.sub(t, e.f(MAGIC))
    r = e.fma(k, e.negated(e.f(LN2_HIGH)), e.negated(x))
    return e.fma(k, e.negated(e.f(LN2_LOW)), r), t


def tanh(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """(1 - u) / (1 + u) with u = exp(-2 |x|), which is accurate near 0 and near 1."""
    raised = e.op("fmax", e.op("ior", x[0], e.word(SIGN)), e.f(-10.0))
    m = expm1(e, e.twice(raised), negate=True)
    return e.signed(quotient(e, m, e.sub(e.f(2.0), m)), x[0])


def erf(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """1 - exp(-g(|x|)), where g is a polynomial."""
    a = e.op("fmin", e.magnitude(x[0]), e.f(ERF_END))
    g = e.mul(e.horner(a, tuple(-c for c in ERF)), a)
    return e.signed(expm1(e, g, negate=True), x[0])


def halved_exp(e: Emitter, a: Value) -> Value:
    """exp(a) / 2 for a >= 0, infinite where that overflows."""
    r, t = reduced(e, e.op("fmin", a, e.f(89.5)))
    return tidy(e, scaled(e, power(e, r), e.op("isub", t, e.word(1))))


def cosh(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    h = halved_exp(e, e.magnitude(x[0]))
    return e.fma(inverse(e, clamped(e, h)), e.f(0.25), h)


def sinh(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    a = e.magnitude(x[0])
    h = halved_exp(e, a)
    large = e.fma(inverse(e, clamped(e, h)), e.f(-0.25), h)
    inside = e.op("fmin", a, e.f(1.0))
    z = e.mul(inside, inside)
    small = e.fma(e.mul(z, inside), e.horner(z, SINH), inside)
    return e.signed(e.select(e.flag("fmax", a, e.f(1.0)), large, small), x[0])
