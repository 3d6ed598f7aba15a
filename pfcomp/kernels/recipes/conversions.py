"""Rows of Cast, by source and target type."""

from __future__ import annotations

from pfcomp.ir.element_types import NUMBERS
from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import arithmetic, casts
from pfcomp.kernels.recipes.emitter import Attributes, Recipe
from pfcomp.kernels.recipes.row import Join, Row

BOOL, INT, LONG, FLOAT, DOUBLE = DType.BOOL, DType.INT, DType.LONG, DType.FLOAT, DType.DOUBLE


def _other_types(attributes: Attributes) -> str:
    to = attributes.get("to")
    return "" if to is None or to in NUMBERS else f"Cast to element type {to}, which the device does not have"


def _row(source: DType, target: DType, recipe: Recipe, meaning: str, ulp: float = 0.0, join: Join = Join.LOW) -> Row:
    wide = 64 in (source.bits, target.bits)
    return Row("Cast", (source,), target, recipe, meaning, ulp=ulp, wide=wide, join=join, refuse=_other_types)


_TRUNCATES = "towards zero, saturating"
_NONZERO = "x is not 0"

ROWS: tuple[Row, ...] = (
    *(_row(t, t, arithmetic.identity, "copies the bits") for t in (BOOL, INT, LONG, FLOAT, DOUBLE)),
    _row(BOOL, INT, arithmetic.identity, "exact"),
    _row(BOOL, LONG, casts.int_to_long, "exact"),
    _row(BOOL, FLOAT, casts.bool_to_float, "exact"),
    _row(BOOL, DOUBLE, casts.int_to_double, "exact"),
    _row(INT, BOOL, casts.int_to_bool, _NONZERO),
    _row(INT, LONG, casts.int_to_long, "exact"),
    _row(INT, FLOAT, casts.int_to_float, "one rounding", 0.5),
    _row(INT, DOUBLE, casts.int_to_double, "exact"),
    _row(LONG, BOOL, casts.long_to_bool, _NONZERO, join=Join.LOW_CLEAN),
    _row(LONG, INT, casts.long_to_int, "the low 32 bits"),
    _row(LONG, FLOAT, casts.long_to_float, "one rounding", 0.5, Join.HIGH),
    _row(LONG, DOUBLE, casts.long_to_double, "one rounding", 0.5),
    _row(FLOAT, BOOL, casts.float_to_bool, _NONZERO),
    _row(FLOAT, INT, casts.float_to_int, _TRUNCATES),
    _row(FLOAT, LONG, casts.float_to_long, _TRUNCATES),
    _row(FLOAT, DOUBLE, casts.float_to_double, "exact"),
    _row(DOUBLE, BOOL, casts.double_to_bool, _NONZERO, join=Join.LOW_CLEAN),
    _row(DOUBLE, INT, casts.double_to_int, _TRUNCATES),
    _row(DOUBLE, LONG, casts.double_to_long, _TRUNCATES),
    _row(DOUBLE, FLOAT, casts.double_to_float, "one rounding", 0.5, Join.HIGH),
)
