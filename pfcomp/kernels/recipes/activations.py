"""Smooth activation functions in single precision."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from pfcomp.kernels.recipes.arithmetic import between, relu
from pfcomp.kernels.recipes.division import quotient
from pfcomp.kernels.recipes.emitter import SIGN, Attributes, Emitter, Value
from pfcomp.kernels.recipes.exponential import erf, exp, expm1, sigmoid
from pfcomp.kernels.recipes.logarithm import log1p

SELU_ALPHA, SELU_GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
ONE = 20.0
GELU_SCALE, GELU_CUBIC = 2 * 0.7978845608028654, 0.044715
"""2 sqrt(2/pi), and the factor of x^3 in the tanh form."""


def _bent(e: Emitter, x: Value, below: float, above: float, width: float = 1.0) -> Value:
    """`above` * x for positive x, `below` * (exp(x / width) - 1) for negative x."""
    low = e.op("fmin", x, e.word(0)) if width == 1.0 else e.mul(e.op("fmin", x, e.word(0)), e.f(1 / width))
    bent = expm1(e, e.op("fmax", low, e.f(-20.0)))
    high = e.op("fmax", x, e.word(0))
    if below == above == 1.0:
        return e.op("ior", bent, high)  # one of them is 0
    return e.fma(bent, e.f(below), high if above == 1.0 else e.mul(high, e.f(above)))


def elu(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    return _bent(e, x[0], float(a.get("alpha", 1.0)), 1.0)  # type: ignore[arg-type]


def celu(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    alpha = float(a.get("alpha", 1.0))  # type: ignore[arg-type]
    return _bent(e, x[0], alpha, 1.0, alpha)


def selu(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    alpha, gamma = float(a.get("alpha", SELU_ALPHA)), float(a.get("gamma", SELU_GAMMA))  # type: ignore[arg-type]
    return _bent(e, x[0], alpha * gamma, gamma)


def softplus(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    """max(x, 0) + log1p(exp(-|x|))."""
    small = exp(e, (e.op("ior", x[0], e.word(SIGN)),), a)
    return e.add(log1p(e, small), relu(e, x, a))


def softsign(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    y = between(e, x[0], -(2.0**30), 2.0**30)
    return quotient(e, y, e.add(e.magnitude(y), e.f(1.0)))


def mish(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    """x tanh(ln(1 + u)) = x n / (n + 2) with u = exp(x), n = u (u + 2); from `ONE` on the fraction rounds to 1."""
    u = exp(e, (e.op("fmin", x[0], e.f(ONE)),), a)
    n = e.mul(u, e.add(u, e.f(2.0)))
    return e.mul(x[0], quotient(e, n, e.add(n, e.f(2.0))))


def gelu(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    if a.get("approximate", "none") == "tanh":
        cubic = e.mul(e.mul(x[0], x[0]), x[0])
        inner = e.fma(cubic, e.f(GELU_SCALE * GELU_CUBIC), e.mul(x[0], e.f(GELU_SCALE)))
        return e.mul(x[0], sigmoid(e, (inner,), a))
    half = e.half(x[0])
    return e.fma(half, erf(e, (e.mul(x[0], e.f(sqrt(0.5))),), a), half)
