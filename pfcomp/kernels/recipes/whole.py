"""Rows of the arithmetic on Int and Long, and of the logic on Bool."""

from __future__ import annotations

from typing import Any

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import arithmetic, integer, remainder
from pfcomp.kernels.recipes.comparison import binary, unary
from pfcomp.kernels.recipes.condition import integer_letter
from pfcomp.kernels.recipes.emitter import Recipe
from pfcomp.kernels.recipes.row import Join, Row
from pfcomp.kernels.recipes.single import BOUNDS, MANY, TWO

_WRAPS = "wraps around"
_BY_ZERO = "any number for b = 0"


def _rows(dtype: DType) -> tuple[Row, ...]:
    letter, wide = integer_letter(dtype), dtype.bits == 64

    def row(op: str, recipe: Recipe, meaning: str, **more: Any) -> Row:
        return Row(op, (dtype,), dtype, recipe, meaning, wide=wide, **more)

    return (
        row("Abs", integer.absolute(letter), "the larger of x and -x", specials="the least number stays"),
        row("Add", arithmetic.folded(f"{letter}add"), _WRAPS, **TWO),
        row("BitShift", integer.shift(letter), "the count modulo the width; >> keeps the sign", **TWO),
        row("BitwiseAnd", binary(f"{letter}and"), "bit by bit", **TWO),
        row("BitwiseNot", unary(f"{letter}not"), "bit by bit"),
        row("BitwiseOr", binary(f"{letter}or"), "bit by bit", **TWO),
        row("BitwiseXor", binary(f"{letter}xor"), "bit by bit", **TWO),
        row("Clip", arithmetic.clip(letter), "x or a bound", **BOUNDS),
        row("Identity", arithmetic.identity, "copies the bits"),
        row("Max", arithmetic.folded(f"{letter}max"), "the larger operand", **MANY),
        row("Min", arithmetic.folded(f"{letter}min"), "the smaller operand", **MANY),
        row("Neg", integer.neg(letter), _WRAPS),
        row("Relu", integer.relu(letter), "the larger of x and 0"),
        row("Sign", integer.sign(letter), "-1, 0 or 1"),
        row("Sub", binary(f"{letter}sub"), _WRAPS, **TWO),
        row("Sum", arithmetic.folded(f"{letter}add"), _WRAPS, **MANY),
    )


def _divisions(dtype: DType, divide: Recipe, modulo: Recipe) -> tuple[Row, ...]:
    how: dict[str, Any] = {"wide": True, "join": Join.LOW, "specials": _BY_ZERO, **TWO}
    return (
        Row("Div", (dtype,), dtype, divide, "rounded towards zero", **how),
        Row("Mod", (dtype,), dtype, modulo, "the sign of b, or of a for fmod=1", **how),
    )


_BOOL = (DType.BOOL,)
_LOGIC = tuple(
    Row(op, _BOOL, DType.BOOL, binary(mnemonic), "of the words 0 and 1", **TWO)
    for op, mnemonic in (
        ("And", "iand"), ("Or", "ior"), ("Xor", "ixor"),
        ("BitwiseAnd", "iand"), ("BitwiseOr", "ior"), ("BitwiseXor", "ixor"),
    )
)  # fmt: skip

ROWS: tuple[Row, ...] = (
    *_rows(DType.INT),
    Row("Mul", (DType.INT,), DType.INT, integer.multiply, f"{_WRAPS}: products of 11-bit pieces", **TWO),
    *_divisions(DType.INT, remainder.divide_int, remainder.modulo_int),
    *_rows(DType.LONG),
    Row("Mul", (DType.LONG,), DType.LONG, integer.multiply_long, f"{_WRAPS}: products of 22-bit pieces",
        wide=True, **TWO),
    *_divisions(DType.LONG, remainder.divide_long, remainder.modulo_long),
    *_LOGIC,
    Row("BitwiseNot", _BOOL, DType.BOOL, unary("ilnot"), "1 - x"),
    Row("Not", _BOOL, DType.BOOL, unary("ilnot"), "1 - x"),
    Row("Identity", _BOOL, DType.BOOL, arithmetic.identity, "copies the bits"),
    Row("Max", _BOOL, DType.BOOL, arithmetic.folded("ior"), "or", **MANY),
    Row("Min", _BOOL, DType.BOOL, arithmetic.folded("iand"), "and", **MANY),
)  # fmt: skip
