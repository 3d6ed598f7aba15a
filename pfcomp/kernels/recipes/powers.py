"""Powers in single precision (backend-kernels.md 2.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pfcomp.kernels.recipes.division import INF, clamped, inverse, rsqrt, sqrt
from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Value
from pfcomp.kernels.recipes.exponential import (
    HIGHEST,
    LN2_HIGH,
    LN2_LOW,
    SMALLEST,
    reduced,
    scaled,
    tidy,
)
from pfcomp.kernels.recipes.exponential import (
    power as polynomial,
)
from pfcomp.kernels.recipes.logarithm import MINUS_INF, split
from pfcomp.kernels.recipes.values import WORD, Constant

MOST_FACTORS = 6
"""Whole exponents up to here are done by multiplication."""

LOG = (
    0.3333333134651184, -0.24999955296516418, 0.20000146329402924, -0.16670015454292297, 0.14284443855285645,
    -0.12414205819368362, 0.11033329367637634, -0.10877358168363571, 0.10687697678804398, -0.0594148151576519,
)  # fmt: skip
"""As in `logarithm`, two terms longer: the error is multiplied by the exponent."""


def power(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    exponent = _known(x[1])
    if exponent is not None:
        if exponent in (0.5, -0.5):
            return (sqrt if exponent > 0 else rsqrt)(e, x[:1], a)
        if exponent == int(exponent) and abs(exponent) <= MOST_FACTORS:
            return whole_power(e, x[0], int(exponent))
    return _general(e, x[0], x[1])


def _known(exponent: Value) -> float | None:
    if not isinstance(exponent, Constant):
        return None
    number = float(np.uint32(exponent.bits & WORD).view(np.float32))
    return number if np.isfinite(number) else None


def whole_power(e: Emitter, x: Value, n: int) -> Value:
    """x^n by multiplications."""
    if n == 0:
        return e.op("lpassa", e.f(1.0))
    result, square, left = None, x, abs(n)
    while left:
        if left & 1:
            result = square if result is None else e.mul(result, square)
        left >>= 1
        if left:
            square = e.mul(square, square)
    assert result is not None
    if n < 0:
        return inverse(e, clamped(e, result))
    return e.op("lpassa", result) if n == 1 else result


def _general(e: Emitter, x: Value, y: Value) -> Value:
    high, low = _logarithm(e, e.magnitude(x))
    product = e.mul(y, high)
    rest = e.fma(y, high, e.negated(product))
    finite = e.flag("fmin", e.magnitude(product), e.f(200.0))
    rest = e.fma(y, low, rest, keep=finite)
    raised, normal = e.flagged("fmax", product, e.f(SMALLEST))
    r, t = reduced(e, e.op("fmin", raised, e.f(HIGHEST)))
    result = tidy(e, scaled(e, polynomial(e, e.add(r, rest)), t, keep=normal))
    return e.op("ixor", result, e.op("iand", x, _parity(e, y)))


def _parity(e: Emitter, y: Value) -> Value:
    """The sign bit where the whole part of y is odd."""
    limited = e.op("fmin", e.op("fmax", y, e.f(-(2.0**30))), e.f(2.0**30))
    return e.op("ilsl", e.op("fftoi", limited), e.word(31))


def _logarithm(e: Emitter, x: Value) -> tuple[Value, Value]:
    """ln x as a sum of two singles; for 0 and inf the first is infinite."""
    k, _field, m = split(e, x)
    f = e.add(m, e.f(-1.0))
    z = e.mul(f, f)
    z_low = e.fma(f, f, e.negated(z))
    first, lost = _sum(e, e.mul(k, e.f(LN2_HIGH)), f)
    half = e.mul(z, e.f(-0.5))
    high, more = _sum(e, first, half)
    low = e.fma(z_low, e.f(-0.5), e.add(lost, more))
    low = e.fma(k, e.f(LN2_LOW), low)
    low = e.fma(e.horner(f, LOG), e.mul(f, z), low)
    high, low = _sum(e, high, low)
    high = e.select(e.flag("fmax", x, e.word(INF)), e.word(INF), high)
    return e.select(e.flag("fmin", x, e.word(0)), e.word(MINUS_INF), high), low


def _sum(e: Emitter, a: Value, b: Value) -> tuple[Value, Value]:
    """a + b and its rounding error, for |a| >= |b| or a = 0."""
    total = e.add(a, b)
    return total, e.sub(b, e.sub(total, a))
