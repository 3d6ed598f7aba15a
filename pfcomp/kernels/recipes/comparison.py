"""Comparisons and selection on all element types, logic on Bool.

Comparisons of two values use the flags of the ALU's max and min, so that neither underflow nor overflow of a
difference can spoil them (`pfcomp.kernels.recipes.condition`).
"""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes.condition import FLOATS, LETTERS, compared, integer_letter, stored, truth
from pfcomp.kernels.recipes.emitter import Attributes, Emitter, Recipe, Value


def ordered(op: str, dtype: DType) -> Recipe:
    """Greater, Less and the like as a Bool."""
    one = truth(DType.LONG if dtype.bits == 64 else DType.BOOL)

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        mask, holds = compared(e, op, dtype, x[0], x[1])(True)
        if holds:
            return e.op("lpassa", one, keep=mask)
        if dtype.bits == 64:
            return e.op("llnot", e.op("lpassa", one, keep=mask))
        return e.op("ilnot", e.op("fvpassa", e.f(1.0), keep=mask))

    return recipe


def equal(dtype: DType) -> Recipe:
    """Compares bits; floating numbers lose the signs of zeros and what stands for zero first."""
    letter = integer_letter(dtype)

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        a, b = (e.op(f"{LETTERS[dtype]}vpassa", v) for v in x) if dtype in FLOATS else x
        return e.op(f"{letter}lnot", e.op(f"{letter}xor", a, b))

    return recipe


def where(dtype: DType) -> Recipe:
    """Condition, a, b."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.choose(stored(e, dtype.bits, x[0]), x[1], x[2], integer_letter(dtype))

    return recipe


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
