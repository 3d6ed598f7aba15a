"""Rows of the comparisons, of selection, and of the classes of numbers."""

from __future__ import annotations

from collections.abc import Iterator

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import double, rounding
from pfcomp.kernels.recipes.comparison import equal, ordered, where
from pfcomp.kernels.recipes.condition import COMPARISONS, cast_of, chosen_by
from pfcomp.kernels.recipes.row import Row
from pfcomp.kernels.recipes.single import TWO

ORDERED = (DType.FLOAT, DType.INT, DType.LONG, DType.DOUBLE)
JOINT = "."
"""Between the operators of a pair that has a recipe of its own."""

_FLOATING = "zeros are equal, infinities by their mantissas"


def _comparisons(dtype: DType) -> Iterator[Row]:
    wide = dtype.bits == 64
    specials = _FLOATING if dtype in (DType.FLOAT, DType.DOUBLE) else ""
    for op, sign in (("Greater", ">"), ("GreaterOrEqual", ">="), ("Less", "<"), ("LessOrEqual", "<=")):
        yield Row(op, (dtype,), DType.BOOL, ordered(op, dtype), f"a {sign} b", specials=specials, wide=wide, **TWO)


def _equal(dtype: DType) -> Row:
    specials = "zeros are equal" if dtype in (DType.FLOAT, DType.DOUBLE) else ""
    return Row("Equal", (dtype,), DType.BOOL, equal(dtype), "a = b", specials=specials, wide=dtype.bits == 64, **TWO)


def _where(dtype: DType) -> Row:
    inputs = (dtype,) if dtype is DType.BOOL else (DType.BOOL, dtype, dtype)
    return Row(
        "Where", inputs, dtype, where(dtype), "copies the bits of a or b", least=3, most=3, wide=dtype.bits == 64
    )


def _is_inf(dtype: DType) -> Row:
    wide = dtype.bits == 64
    recipe = double.is_inf if wide else rounding.is_inf
    return Row("IsInf", (dtype,), DType.BOOL, recipe, "the exponent is all ones", specials="true for NaN", wide=wide)


def _is_nan(dtype: DType) -> Row:
    return Row("IsNaN", (dtype,), DType.BOOL, rounding.is_nan, "false: the chip has no NaN", wide=dtype.bits == 64)


def _joined(op: str, dtype: DType) -> Iterator[Row]:
    """A comparison with its reader, for results as wide as what is compared."""
    for result in (t for t in (*ORDERED, DType.BOOL) if t.bits == dtype.bits):
        types = (dtype,) if result is dtype else (dtype, dtype, result, result)
        wide = dtype.bits == 64
        meaning = f"{{}} of {op}"
        yield Row(
            f"{op}{JOINT}Where", types, result, chosen_by(op, dtype, result), meaning.format("Where"),
            least=4, most=4, wide=wide,
        )  # fmt: skip
        yield Row(
            f"{op}{JOINT}Cast", (dtype,), result, cast_of(op, dtype, result), meaning.format("Cast"), wide=wide, **TWO
        )


JOINED: tuple[Row, ...] = tuple(
    row
    for op in COMPARISONS
    for dtype in ((*ORDERED, DType.BOOL) if op == "Equal" else ORDERED)
    for row in _joined(op, dtype)
)
"""Pairs of operators that a fused node computes at once (`pfcomp.kernels.fusion`)."""

ROWS: tuple[Row, ...] = (
    *(row for dtype in ORDERED for row in _comparisons(dtype)),
    *map(_equal, (*ORDERED, DType.BOOL)),
    *map(_where, (*ORDERED, DType.BOOL)),
    *map(_is_inf, (DType.FLOAT, DType.DOUBLE)),
    *map(_is_nan, (DType.FLOAT, DType.DOUBLE)),
)
