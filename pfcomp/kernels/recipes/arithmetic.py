"""Sums, products, extremes and piecewise linear functions in single precision."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.emitter import SIGN_BITS, Attributes, Emitter, Recipe, Value
from pfcomp.kernels.recipes.values import MISSING


def folded(mnemonic: str) -> Recipe:
    """Combines any number of operands, from left to right."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        result = x[0] if len(x) > 1 else e.op("lpassa", x[0])
        for other in x[1:]:
            result = e.op(mnemonic, result, other)
        return result

    return recipe


def identity(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("lpassa", x[0])


def sub(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.sub(x[0], x[1])


def neg(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("ixor", SIGN_BITS, x[0])  # flips zeros and infinities exactly, which a MAU negation does not


def absolute(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.magnitude(x[0])


def relu(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("fmax", x[0], e.word(0))  # frelu would turn every negative number into -0


def sign(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """x * inf is infinite or, for 0, 0."""
    return between(e, e.mul(x[0], e.f(float("inf"))), -1.0, 1.0)


def between(e: Emitter, x: Value, low: float, high: float) -> Value:
    """x, or the bound that it exceeds."""
    return e.op("fmin", e.op("fmax", x, e.f(low)), e.f(high))


def leaky_relu(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    alpha = float(a.get("alpha", 0.01))  # type: ignore[arg-type]
    return e.op("fmax" if alpha <= 1 else "fmin", x[0], e.mul(x[0], e.f(alpha)))


def prelu(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    low = e.op("fmin", x[0], e.word(0))
    return e.fma(low, x[1], e.op("fmax", x[0], e.word(0)))


def hard_sigmoid(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    alpha, beta = float(a.get("alpha", 0.2)), float(a.get("beta", 0.5))  # type: ignore[arg-type]
    return between(e, e.fma(x[0], e.f(alpha), e.f(beta)), 0.0, 1.0)


def hard_swish(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.mul(x[0], hard_sigmoid(e, x, {"alpha": 1 / 6}))


def clip(letter: str) -> Recipe:
    """min(max(x, low), high); a bound that is `MISSING` is left out."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        result = x[0]
        for mnemonic, bound in zip(("max", "min"), x[1:], strict=False):
            if bound is not MISSING:
                result = e.op(letter + mnemonic, result, bound)
        return e.op("lpassa", result) if result is x[0] else result

    return recipe
