"""Reciprocals, quotients and roots in single precision (backend-kernels.md 2.3)."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Value

SEED = 0x7EF30000
"""Minus the bits of x, this is 1/x within 5.1 %, signs included."""

FIRST = 2.00132
"""Instead of 2 in the first Newton step: halves the largest error that remains."""

LARGEST = 2.0**126
"""From here on the seed is no number; the reciprocal is below the smallest normal number, so it is taken as 0."""

INF = 0x7F800000


def clamped(e: Emitter, x: Value) -> Value:
    """x with a magnitude for which the seed works."""
    return e.op("fmin", e.op("fmax", x, e.f(-LARGEST)), e.f(LARGEST))


def newton(e: Emitter, x: Value) -> tuple[Value, Value]:
    """y and p with y (1 + p) = 1/x."""
    seed = e.op("isub", e.word(SEED), x)
    y = e.mul(seed, e.fma(e.negated(x), seed, e.f(FIRST)))
    h = e.fma(e.negated(x), y, e.f(1.0))
    return y, e.fma(h, h, h)


def inverse(e: Emitter, x: Value) -> Value:
    """1/x for |x| up to `LARGEST`; infinite for zeros."""
    y, p = newton(e, x)
    return e.fma(y, p, y)


def quotient(e: Emitter, a: Value, b: Value) -> Value:
    """a/b within 1.5 ulp, for b up to `LARGEST` and not 0."""
    y, p = newton(e, b)
    q = e.mul(a, y)
    return e.fma(q, p, q)


def reciprocal(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return inverse(e, clamped(e, x[0]))


def divide(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    a, b = x[0], clamped(e, x[1])
    y = inverse(e, b)
    q = e.mul(a, y)
    finite = e.flag("fmin", e.magnitude(q), e.word(INF - 1))  # the remainder of an infinite quotient is inf - inf
    return e.fma(e.fma(e.negated(b), q, a, keep=finite), y, q)


def roots(e: Emitter, x: Value) -> Value:
    """1/sqrt(x) within 5.5e-5."""
    y = e.op("frsqrt", x)
    h = e.fma(e.negated(e.mul(x, y)), y, e.f(1.0))
    return e.fma(e.fma(h, e.f(0.375), e.f(0.5)), e.mul(h, y), y)


def rsqrt(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    a = e.op("fmax", x[0], e.word(0))
    y = roots(e, a)
    h = e.fma(e.negated(e.mul(a, y)), y, e.f(1.0))
    return e.fma(e.half(y), h, y)


def root(e: Emitter, x: Value) -> Value:
    """sqrt(x) for finite x >= 0."""
    y = roots(e, x)
    s = e.mul(x, y)
    h = e.fma(e.negated(s), y, e.f(1.0))  # relative to x: x - s*s would vanish for small x
    return e.fma(e.half(s), h, s)


def sqrt(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    infinite = e.flag("fmax", x[0], e.word(INF))
    return e.select(infinite, e.word(INF), root(e, e.op("fmax", x[0], e.word(0))))
