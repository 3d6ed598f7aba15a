"""Comparisons and selection on all element types, logic on Bool.

Masks are flags of the ALU's max and min, "the first operand is chosen or equal" (isa.md 9.3), so that neither
underflow nor overflow of a difference can spoil a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Recipe, Value

LETTERS = {DType.FLOAT: "f", DType.INT: "i", DType.BOOL: "i", DType.LONG: "l", DType.DOUBLE: "d"}
"""The letter of ALU operations on a type."""


def integer_letter(dtype: DType) -> str:
    """The letter of integer operations on words of the size of a type."""
    return "l" if dtype.bits == 64 else "i"


def one(e: Emitter, dtype: DType) -> Value:
    """The word 1 in an element of the size of a type."""
    return e.l(1) if dtype.bits == 64 else e.word(1)


def reaches(dtype: DType, mnemonic: str) -> Recipe:
    """True where the maximum (or minimum) of a and b is a."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.op("lpassa", one(e, dtype), keep=e.flag(LETTERS[dtype] + mnemonic, x[0], x[1]))

    return recipe


def misses(dtype: DType, mnemonic: str) -> Recipe:
    """False where the maximum (or minimum) of a and b is a."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        mask = e.flag(LETTERS[dtype] + mnemonic, x[0], x[1])
        if dtype.bits == 64:
            return e.op("llnot", e.op("lpassa", e.l(1), keep=mask))
        return e.op("ilnot", e.op("fvpassa", e.f(1.0), keep=mask))

    return recipe


def equal(dtype: DType) -> Recipe:
    """Compares bits; floating numbers lose the signs of zeros and what stands for zero first."""
    letter = integer_letter(dtype)
    tidy = {DType.FLOAT: "fvpassa", DType.DOUBLE: "dvpassa"}.get(dtype)

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        a, b = (e.op(tidy, v) for v in x) if tidy else x
        return e.op(f"{letter}lnot", e.op(f"{letter}xor", a, b))

    return recipe


def where(dtype: DType) -> Recipe:
    """Condition, a, b. In long words the condition is in the high word."""

    def narrow(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.select(e.flag("ipassa", x[0]), x[2], x[1])

    def wide(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.select(e.flag("ullsr", x[0], e.word(32)), x[2], x[1], "l")

    return wide if dtype.bits == 64 else narrow


def binary(mnemonic: str) -> Recipe:
    """One operation on two operands."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.op(mnemonic, x[0], x[1])

    return recipe


def unary(mnemonic: str) -> Recipe:
    """One operation on one operand."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.op(mnemonic, x[0])

    return recipe
