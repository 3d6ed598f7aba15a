"""Rounding to whole numbers, remainders, and the classes of numbers, in single precision."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.division import INF, divide
from pfcomp.kernels.recipes.emitter import SIGN, Attributes, Emitter, Value

WHOLE = 2.0**23
"""From here on every single is a whole number."""
WHOLE_BITS = 0x4B000000


def floor(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("ffloor", x[0])


def ceil(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    down = e.op("ffloor", e.op("fvpassa", e.negated(x[0])))
    return e.op("fvpassa", e.negated(down))


def nearest(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """Half to even: 2^23 with the sign of x is added and taken away."""
    magic = e.op("ior", e.op("iand", x[0], e.word(SIGN)), e.word(WHOLE_BITS))
    whole = e.flag("fmax", e.magnitude(x[0]), e.word(WHOLE_BITS))
    return e.select(whole, x[0], e.sub(e.add(x[0], magic), magic))


def truncated(e: Emitter, x: Value) -> Value:
    """The whole number next to x towards zero."""
    return e.signed(e.op("ffloor", e.magnitude(x)), x)


def fmod(e: Emitter, x: Sequence[Value], attributes: Attributes) -> Value:
    """a - trunc(a/b) b, corrected by one b where the quotient was rounded up to a whole number."""
    a, b = x
    q = truncated(e, divide(e, x, attributes))
    r = e.fma(e.negated(q), b, a)
    step = e.signed(e.magnitude(b), a)
    same_sign = e.flag("fvmul", r, step)
    return e.select(same_sign, r, e.add(r, step))


def is_inf(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    positive, negative = bool(a.get("detect_positive", 1)), bool(a.get("detect_negative", 1))
    if not positive and not negative:
        return e.op("lpassa", e.word(0))
    one_sign = x[0] if positive else e.op("ixor", x[0], e.word(SIGN))
    tested = e.magnitude(x[0]) if positive and negative else one_sign
    return e.op("lpassa", e.word(1), keep=e.flag("fmax", tested, e.word(INF)))


def is_nan(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("lpassa", e.word(0))
