"""Rows of the arithmetic on Double."""

from __future__ import annotations

from typing import Any

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import arithmetic, double, double_exponential
from pfcomp.kernels.recipes.emitter import Recipe
from pfcomp.kernels.recipes.row import Row
from pfcomp.kernels.recipes.single import BOUNDS, MANY, TWO


def _row(op: str, recipe: Recipe, meaning: str, **more: Any) -> Row:
    return Row(op, (DType.DOUBLE,), DType.DOUBLE, recipe, meaning, wide=True, **more)


_TINY = "tiny results and -0 become +0"

ROWS: tuple[Row, ...] = (
    _row("Abs", double.absolute, "clears the sign bit"),
    _row("Add", arithmetic.folded("dvadd"), "one rounding to nearest even", ulp=0.5, specials=_TINY, **TWO),
    _row("Ceil", double.ceil, "rounds up", specials="zero results are +0"),
    _row("Clip", arithmetic.clip("d"), "the bits of x or of a bound", **BOUNDS),
    _row(
        "Div", double.divide, "Newton's reciprocal, then a correction by the exact remainder", ulp=0.6, **TWO,
        domain="|b| < 2^1021, |a| > 2^-900", specials="a/0 = +-inf, 0/0 = 0; 0 for |b| >= 2^1022",
    ),
    _row("Exp", double_exponential.exp, "2^k times a polynomial", ulp=1.0, domain="results from 2^-1022",
         specials="0 below -708.396, inf above 709.78"),
    _row("Floor", double.floor, "rounds down"),
    _row("Identity", arithmetic.identity, "copies the bits"),
    _row("Log", double_exponential.log, "exponent and a polynomial in f / (2 + f)", ulp=1.0, domain="x >= 2^-1022",
         specials="-inf for x <= 0, inf for inf"),
    _row("Max", arithmetic.folded("dmax"), "the larger operand, its bits unchanged", **MANY),
    _row("Min", arithmetic.folded("dmin"), "the smaller operand, its bits unchanged", **MANY),
    _row("Mul", double.mul, "product of isa.md 18.2, one rounding", ulp=0.51, specials=f"{_TINY}; inf 0 = 0", **TWO),
    _row("Neg", double.neg, "flips the sign bit"),
    _row("Reciprocal", double.reciprocal, "integer seed and three Newton steps", ulp=0.6,
         domain="|x| < 2^1021", specials="1/+-0 = +-inf; 0 for |x| >= 2^1022"),
    _row("Relu", double.relu, "the larger of x and 0", specials="-0 stays"),
    _row("Round", double.nearest, "half to even", specials="zero results are +0"),
    _row("Sigmoid", double_exponential.sigmoid, "1 / (1 + exp(-x))", ulp=2.2, domain="x > -708",
         specials="0 below -708"),
    _row("Sign", double.sign, "-1, 0 or 1", specials="zeros give +0"),
    _row("Sqrt", double.sqrt, "table and three Newton steps", ulp=0.9, domain="x >= 0",
         specials="sqrt(inf) = inf; 0 for x < 0"),
    _row("Sub", double.sub, "one rounding to nearest even", ulp=0.5, specials=_TINY, **TWO),
    _row("Tanh", double_exponential.tanh, "(1 - u) / (1 + u), u = exp(-2|x|)", ulp=3.0),
    _row("Sum", arithmetic.folded("dvadd"), "left to right, one rounding for each addition", ulp=0.5, **MANY),
)  # fmt: skip
