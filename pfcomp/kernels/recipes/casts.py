"""Conversions between the element types of the device.

In `wide` recipes 32-bit operands are in the high word of a long word; the low one holds anything.
"""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Value
from pfcomp.kernels.recipes.exponential import MAGIC, MAGIC_BITS
from pfcomp.kernels.recipes.integer import DOUBLE_MAGIC, DOUBLE_MAGIC_BITS, DOUBLE_WHOLE_BITS
from pfcomp.kernels.recipes.rounding import WHOLE, WHOLE_BITS
from pfcomp.kernels.recipes.values import WORD

HIGH_MAGIC_BITS = 0x4538000000000000
"""1.5 * 2^84: its last place is 2^32."""
HIGH_MAGIC_AND_WHOLE = 1.5 * 2.0**84 + 2.0**52

LEAST_INT, MOST_INT = -(2**31), 2**31 - 1


def float_to_int(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("fftoi", x[0])


def float_to_bool(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("uimin", e.op("fvpassa", x[0]), e.word(1))


def int_to_bool(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("uimin", x[0], e.word(1))


def int_to_float(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    """Two halves of 16 bits, each exact; one rounding when they are put together."""
    high = e.sub(e.op("iadd", e.op("ilsr", x[0], e.word(16)), e.word(MAGIC_BITS)), e.f(MAGIC))
    low = e.sub(e.op("ior", e.op("iand", x[0], e.word(0xFFFF)), e.word(WHOLE_BITS)), e.f(WHOLE))
    return e.fma(high, e.f(65536.0), low)


def bool_to_float(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("fvpassa", e.f(1.0), keep=e.flag("isub", x[0], e.word(1)))


# between 32 and 64 bits


def signed_long(e: Emitter, x: Value) -> Value:
    """The Int in the high word as a Long."""
    return e.op("llsr", x, e.word(32))


def int_to_long(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return signed_long(e, x[0])


def long_to_int(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return x[0]


def long_to_bool(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("ulmin", x[0], e.l(1))


def small_to_double(e: Emitter, x: Value) -> Value:
    """A Long of less than 2^51 as a double."""
    return e.dsub(e.op("ladd", x, e.l(DOUBLE_MAGIC_BITS)), e.d(DOUBLE_MAGIC))


def int_to_double(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return small_to_double(e, signed_long(e, x[0]))


def long_to_double(e: Emitter, x: Sequence[Value], _: Attributes, mnemonic: str = "dvadd") -> Value:
    """Two halves of 32 bits, each exact; one rounding when they are put together."""
    high = e.op("ladd", e.op("llsr", x[0], e.word(32)), e.l(HIGH_MAGIC_BITS))
    low = e.op("lor", e.op("land", x[0], e.l(WORD)), e.l(DOUBLE_WHOLE_BITS))
    return e.op(mnemonic, e.dsub(high, e.d(HIGH_MAGIC_AND_WHOLE)), low)


def long_to_float(e: Emitter, x: Sequence[Value], a: Attributes) -> Value:
    return long_to_double(e, x, a, "dvaddr")


def float_to_double(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("dvpassa", e.widened(x[0]))


def float_to_long(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("dftoi", e.op("dvpassa", e.widened(x[0])))


def double_to_float(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("dvpassar", x[0])


def double_to_long(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("dftoi", x[0])


def double_to_int(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("lmin", e.op("lmax", e.op("dftoi", x[0]), e.l(LEAST_INT)), e.l(MOST_INT))


def double_to_bool(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
    return e.op("ulmin", e.op("dvpassa", x[0]), e.l(1))
