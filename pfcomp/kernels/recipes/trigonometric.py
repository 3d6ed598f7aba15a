"""Sine, cosine, tangent and their inverses in single precision (backend-kernels.md 2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from math import pi

from pfcomp.kernels.recipes.division import clamped, quotient, root
from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Value
from pfcomp.kernels.recipes.exponential import MAGIC

INVERSE_PI = 0.31830987
PI = (3.140625, 0.00096750259399414062, 1.5099580252808664e-07)
"""pi in three parts; products with whole numbers below 2^14 are exact for the first two."""

SIN = (-0.16666659712791443, 0.008333064615726471, -0.00019809474179055542, 2.6054813133669086e-06)
"""(sin(r) / r - 1) / r^2 as a polynomial in r^2, for |r| up to pi/2."""

ATAN = (
    -0.3333316743373871, 0.1999414712190628, -0.14214284718036652, 0.10679222643375397,
    -0.07581154257059097, 0.04356009140610695, -0.016585083678364754, 0.0029755369760096073,
)  # fmt: skip
"""(atan(t) / t - 1) / t^2 as a polynomial in t^2, for t from 0 to 1."""

ASIN = (0.16666753590106964, 0.07495252043008804, 0.0454760417342186, 0.02415209263563156, 0.04221179708838463)
"""(asin(s) / s - 1) / s^2 as a polynomial in s^2, for s from 0 to 1/2."""


def _sine(e: Emitter, r: Value, t: Value) -> Value:
    """sin(r), its sign flipped if t is odd."""
    z = e.mul(r, r)
    s = e.fma(e.horner(z, SIN), e.mul(r, z), r)
    y = e.op("ixor", s, e.op("ilsl", t, e.word(31)))
    return e.op("fmin", e.op("fmax", y, e.f(-1.0)), e.f(1.0))


def _whole_turns(e: Emitter, x: Value) -> tuple[Value, Value]:
    """r and t with x = k pi + r, where the low bits of t are k."""
    t = e.fma(x, e.f(INVERSE_PI), e.f(MAGIC))
    k, r = e.sub(t, e.f(MAGIC)), x
    for part in PI:
        r = e.fma(k, e.negated(e.f(part)), r)
    return r, t


def _shifted_turns(e: Emitter, x: Value) -> tuple[Value, Value]:
    """r and t with x = (k + 1/2) pi - r, where the low bits of t are k: cos(x) = (-1)^k sin(r)."""
    t = e.add(e.fma(x, e.f(INVERSE_PI), e.f(-0.5)), e.f(MAGIC))
    k, r = e.add(e.sub(t, e.f(MAGIC)), e.f(0.5)), e.negated(x)
    for part in PI:
        r = e.fma(k, e.f(part), r)
    return r, t


def sin(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return _sine(e, *_whole_turns(e, x[0]))


def cos(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return _sine(e, *_shifted_turns(e, x[0]))


def tan(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    return quotient(e, sin(e, x, a), cos(e, x, a))


def atan(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """atan(t) or pi/2 - atan(t) with t = min(|x|, 1/|x|)."""
    m = e.magnitude(x[0])
    large, outside = e.flagged("fmax", m, e.f(1.0))
    t = quotient(e, e.op("fmin", m, e.f(1.0)), clamped(e, large))
    z = e.mul(t, t)
    y = e.fma(e.horner(z, ATAN), e.mul(t, z), t)
    return e.signed(e.select(outside, e.sub(e.f(pi / 2), y), y), x[0])


def _arc(e: Emitter, x: Value) -> tuple[Value, int]:
    """asin(s) and a mask: of s = |x| where the mask is 0, else of s = sqrt((1 - |x|) / 2), for |x| above 1/2."""
    m = e.op("fmin", e.magnitude(x), e.f(1.0))
    w = e.fma(m, e.f(-0.5), e.f(0.5))
    s = root(e, w)
    near_one = e.flag("fmax", m, e.f(0.5))
    s = e.select(near_one, s, m)
    z = e.mul(s, s)
    return e.fma(e.horner(z, ASIN), e.mul(s, z), s), near_one


def asin(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    y, near_one = _arc(e, x[0])
    return e.signed(e.select(near_one, e.fma(y, e.f(-2.0), e.f(pi / 2)), y), x[0])


def acos(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    y, near_one = _arc(e, x[0])
    middle = e.sub(e.f(pi / 2), e.signed(y, x[0]))
    end = e.twice(y)
    positive = e.flag("fmax", x[0], e.word(0))
    return e.select(near_one, e.select(positive, end, e.sub(e.f(pi), end)), middle)
