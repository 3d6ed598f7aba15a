"""Arithmetic on Int and Long (backend-kernels.md 2.5); `letter` is i or l. All of it wraps around."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Recipe, Value
from pfcomp.kernels.recipes.exponential import MAGIC, MAGIC_BITS
from pfcomp.kernels.recipes.rounding import WHOLE, WHOLE_BITS
from pfcomp.kernels.recipes.values import LONG, WORD, Constant

DOUBLE_WHOLE, DOUBLE_WHOLE_BITS = 2.0**52, 0x4330000000000000
DOUBLE_MAGIC, DOUBLE_MAGIC_BITS = 1.5 * 2.0**52, 0x4338000000000000


def number(e: Emitter, letter: str, value: int) -> Value:
    """An integer constant."""
    return e.l(value) if letter == "l" else e.word(value)


def neg(letter: str) -> Recipe:
    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.op(f"{letter}sub", e.word(0), x[0])

    return recipe


def absolute(letter: str) -> Recipe:
    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.op(f"{letter}max", x[0], e.op(f"{letter}sub", e.word(0), x[0]))

    return recipe


def relu(letter: str) -> Recipe:
    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.op(f"{letter}max", x[0], e.word(0))

    return recipe


def sign(letter: str) -> Recipe:
    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.op(f"{letter}min", e.op(f"{letter}max", x[0], number(e, letter, -1)), number(e, letter, 1))

    return recipe


def shift(letter: str) -> Recipe:
    """By the low bits of the count; to the right copies of the sign come in."""

    def recipe(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
        return e.op(f"{letter}lsl" if a["direction"] == "LEFT" else f"{letter}lsr", x[0], x[1])

    return recipe


def _pieces(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """Singles with x = x0 + 2^11 x1 + 2^22 x2; the first is not negative."""
    low = e.sub(e.op("ior", e.op("iand", x, e.word(0x7FF)), e.word(WHOLE_BITS)), e.f(WHOLE))
    rest = e.sub(e.op("iadd", e.op("ilsr", x, e.word(11)), e.word(MAGIC_BITS)), e.f(MAGIC))
    high = e.sub(e.fma(rest, e.f(2.0**-11), e.f(MAGIC)), e.f(MAGIC))
    return low, e.fma(high, e.f(-2048.0), rest), high


def multiply(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """The low 32 bits: sums of exact products of 11-bit pieces, read from the mantissas."""
    a, b = (_pieces(e, v) for v in x)
    n0 = e.fma(a[0], b[0], e.f(WHOLE))
    n1 = e.fma(a[0], b[1], e.fma(a[1], b[0], e.f(MAGIC)))
    n2 = e.fma(a[2], b[0], e.fma(a[1], b[1], e.fma(a[0], b[2], e.f(MAGIC))))
    total = e.op("iadd", e.op("ilsl", n1, e.word(11)), e.op("ilsl", n2, e.word(22)))
    excess = WHOLE_BITS + (MAGIC_BITS << 11) + (MAGIC_BITS << 22)
    return e.op("iadd", e.op("iadd", total, n0), e.word(-excess & WORD))


def _long_pieces(e: Emitter, x: Value) -> tuple[Value, Value, Value]:
    """Doubles with x = x0 + 2^22 x1 + 2^44 x2 modulo 2^64, none negative."""
    if isinstance(x, Constant):
        return e.d(x.bits & 0x3FFFFF), e.d(x.bits >> 22 & 0x3FFFFF), e.d(x.bits >> 44)
    bits = [
        e.op("land", x, e.l(0x3FFFFF)),
        e.op("land", e.op("ullsr", x, e.word(22)), e.l(0x3FFFFF)),
        e.op("ullsr", x, e.word(44)),
    ]
    low, middle, high = (e.dsub(e.op("lor", b, e.l(DOUBLE_WHOLE_BITS)), e.d(DOUBLE_WHOLE)) for b in bits)
    return low, middle, high


def multiply_long(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """The low 64 bits, from exact products of 22-bit pieces in double precision."""
    a, b = (_long_pieces(e, v) for v in x)
    whole = e.d(DOUBLE_WHOLE)
    n0 = e.dfma(a[0], b[0], whole)
    n1 = e.dfma(a[0], b[1], e.dfma(a[1], b[0], whole))
    n2 = e.dfma(a[2], b[0], e.dfma(a[1], b[1], e.dfma(a[0], b[2], whole)))
    total = e.op("ladd", e.op("llsl", n1, e.word(22)), e.op("llsl", n2, e.word(44)))
    excess = DOUBLE_WHOLE_BITS + (DOUBLE_WHOLE_BITS << 22) + (DOUBLE_WHOLE_BITS << 44)
    return e.op("ladd", e.op("ladd", total, n0), e.l(-excess & LONG))
