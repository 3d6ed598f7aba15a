"""The logarithm and what is made of it, in single precision (backend-kernels.md 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.division import INF, divide, quotient, root
from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Value
from pfcomp.kernels.recipes.exponential import LN2_HIGH, LN2_LOW, MAGIC, MAGIC_BITS

MINUS_INF = 0xFF800000

ROOT_HALF_BITS = 0x3F3504F3
"""The mantissas are taken between sqrt(1/2) and sqrt(2)."""

LOG = (
    0.33333331346511841, -0.25000822544097900, 0.20001220703125, -0.16623327136039734,
    0.14201882481575012, -0.13160637021064758, 0.12760862708091736, -0.07632276415824890,
)  # fmt: skip
"""(ln(1 + f) - f + f^2/2) / f^3."""


def split(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """x = 2^k m: k as a float, the bits of k's contribution to the exponent field, and m."""
    bits = e.op("isub", x, e.word(ROOT_HALF_BITS))
    field = e.op("iand", bits, e.word(0xFF800000))
    k = e.sub(e.op("iadd", e.op("ilsr", bits, e.word(23)), e.word(MAGIC_BITS)), e.f(MAGIC))
    return k, field, e.op("isub", x, field)


def combined(e: Emitter, k: Value, f: Value) -> Value:
    """k ln 2 + ln(1 + f)."""
    z = e.mul(f, f)
    u = e.fma(z, e.f(-0.5), e.mul(k, e.f(LN2_LOW)))
    u = e.fma(e.horner(f, LOG), e.mul(f, z), u)
    return e.fma(k, e.f(LN2_HIGH), e.add(f, u))


def log(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    k, _field, m = split(e, x[0])
    y = combined(e, k, e.add(m, e.f(-1.0)))
    y = e.select(e.flag("fmax", x[0], e.word(INF)), e.word(INF), y)
    return e.select(e.flag("fmin", x[0], e.word(0)), e.word(MINUS_INF), y)


def log1p(e: Emitter, x: Value) -> Value:
    """ln(1 + x) for x >= 0; infinite where 1 + x is."""
    u = e.add(x, e.f(1.0))
    lost = e.sub(x, e.sub(u, e.f(1.0)))
    k, field, m = split(e, u)
    scale = e.op("isub", e.f(1.0), field)
    y = combined(e, k, e.fma(lost, scale, e.add(m, e.f(-1.0))))
    return e.select(e.flag("fmax", u, e.word(INF)), e.word(INF), y)


def asinh(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """log1p(a + a * a / (1 + sqrt(1 + a^2))) with the sign of x."""
    a = e.magnitude(x[0])
    c = e.op("fmin", a, e.f(2.0**40))
    ratio = quotient(e, c, e.add(root(e, e.fma(c, c, e.f(1.0))), e.f(1.0)))
    return e.signed(log1p(e, e.fma(a, ratio, a)), x[0])


def acosh(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """log1p(t + sqrt(t (t + 2))) with t = x - 1."""
    t = e.op("fmax", e.add(x[0], e.f(-1.0)), e.word(0))
    c = e.op("fmin", t, e.f(2.0**40))
    s = e.op("fmax", root(e, e.mul(c, e.add(c, e.f(2.0)))), t)
    return log1p(e, e.add(t, s))


def atanh(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    """log1p(2 a / (1 - a)) / 2 with the sign of x."""
    m = e.op("fmin", e.magnitude(x[0]), e.f(1.0))
    ratio = divide(e, (e.twice(m), e.sub(e.f(1.0), m)), a)
    return e.signed(e.half(log1p(e, ratio)), x[0])
