"""Rows of the comparisons, of selection, and of the classes of numbers."""

from __future__ import annotations

from collections.abc import Iterator

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import double, rounding
from pfcomp.kernels.recipes.comparison import equal, misses, reaches, where
from pfcomp.kernels.recipes.row import Row
from pfcomp.kernels.recipes.single import TWO

ORDERED = (DType.FLOAT, DType.INT, DType.LONG, DType.DOUBLE)
_FLOATING = "zeros are equal, infinities by their mantissas"


def _comparisons(dtype: DType) -> Iterator[Row]:
    wide = dtype.bits == 64
    specials = _FLOATING if dtype in (DType.FLOAT, DType.DOUBLE) else ""
    for op, recipe, meaning in (
        ("Greater", misses(dtype, "min"), "a > b"),
        ("GreaterOrEqual", reaches(dtype, "max"), "a >= b"),
        ("Less", misses(dtype, "max"), "a < b"),
        ("LessOrEqual", reaches(dtype, "min"), "a <= b"),
    ):
        yield Row(op, (dtype,), DType.BOOL, recipe, meaning, specials=specials, wide=wide, **TWO)


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


ROWS: tuple[Row, ...] = (
    *(row for dtype in ORDERED for row in _comparisons(dtype)),
    *map(_equal, (*ORDERED, DType.BOOL)),
    *map(_where, (*ORDERED, DType.BOOL)),
    *map(_is_inf, (DType.FLOAT, DType.DOUBLE)),
    *map(_is_nan, (DType.FLOAT, DType.DOUBLE)),
)
