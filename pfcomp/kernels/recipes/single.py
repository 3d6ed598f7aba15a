"""Rows of the operators on Float."""

from __future__ import annotations

from typing import Any

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import (
    activations,
    arithmetic,
    division,
    exponential,
    logarithm,
    powers,
    rounding,
    trigonometric,
)
from pfcomp.kernels.recipes.emitter import Attributes, Recipe
from pfcomp.kernels.recipes.row import Row

_FLOAT = (DType.FLOAT,)
MANY: dict[str, Any] = {"least": 1, "most": None}
TWO: dict[str, Any] = {"least": 2, "most": 2}
BOUNDS: dict[str, Any] = {"least": 1, "most": 3}


def _row(op: str, recipe: Recipe, meaning: str, **more: Any) -> Row:
    return Row(op, _FLOAT, DType.FLOAT, recipe, meaning, **more)


def _only_fmod(attributes: Attributes) -> str:
    return "" if attributes.get("fmod", 0) else "Mod of Float with fmod=0; ONNX wants fmod=1"


EXACT: tuple[Row, ...] = (
    _row("Abs", arithmetic.absolute, "clears the sign bit"),
    _row("Ceil", rounding.ceil, "rounds up", specials="zero results are +0"),
    _row("Clip", arithmetic.clip("f"), "the bits of x or of a bound", **BOUNDS),
    _row("Floor", rounding.floor, "rounds down"),
    _row("Identity", arithmetic.identity, "copies the bits"),
    _row("Max", arithmetic.folded("fmax"), "the larger operand, its bits unchanged", **MANY),
    _row("Min", arithmetic.folded("fmin"), "the smaller operand, its bits unchanged", **MANY),
    _row("Neg", arithmetic.neg, "flips the sign bit"),
    _row("Relu", arithmetic.relu, "the larger of x and 0", specials="-0 stays"),
    _row("Round", rounding.nearest, "half to even", specials="zero results are +0"),
    _row("Sign", arithmetic.sign, "-1, 0 or 1", specials="zeros give +0"),
)

ROUNDED: tuple[Row, ...] = (
    _row(
        "Add", arithmetic.folded("fvadd"), "one rounding to nearest even", ulp=0.5, **TWO,
        specials="tiny results and -0 become +0",
    ),
    _row("HardSigmoid", arithmetic.hard_sigmoid, "min(max(alpha x + beta, 0), 1)", ulp=1.0, domain="in units of 2^-23"),
    _row("HardSwish", arithmetic.hard_swish, "x min(max(x/6 + 1/2, 0), 1)", ulp=1.0, domain="in units of |x|"),
    _row("LeakyRelu", arithmetic.leaky_relu, "x or alpha x", ulp=0.51),
    _row(
        "Mod", rounding.fmod, "a - trunc(a/b) b, the sign of a", refuse=_only_fmod, **TWO,
        domain="|a/b| < 2^19, |b| < 2^125", specials="a for b = 0 or infinite",
    ),
    _row("Mul", arithmetic.folded("fvmul"), "product of isa.md 18.2, one rounding", ulp=0.51, **TWO,
         specials="tiny results and -0 become +0; inf 0 = 0"),
    _row("PRelu", arithmetic.prelu, "x or slope x", ulp=0.51, **TWO),
    _row("Sub", arithmetic.sub, "one rounding to nearest even", ulp=0.5, **TWO,
         specials="tiny results and -0 become +0"),
    _row("Sum", arithmetic.folded("fvadd"), "left to right, one rounding for each addition", ulp=0.5, **MANY),
)  # fmt: skip

DIVISION: tuple[Row, ...] = (
    _row(
        "Div", division.divide, "Newton's reciprocal, then a correction by the exact remainder", ulp=0.51, **TWO,
        domain="|b| < 2^125, |a| > 2^-100 (below: 1.5)", specials="a/0 = +-inf, 0/0 = 0; 0 for |b| >= 2^126",
    ),
    _row("Reciprocal", division.reciprocal, "integer seed and two Newton steps", ulp=0.6,
         domain="|x| < 2^125.5", specials="1/+-0 = +-inf; 0 for |x| >= 2^126"),
    _row("Rsqrt", division.rsqrt, "1/sqrt(x): a Reciprocal of a Sqrt", ulp=1.1, domain="x > 0",
         specials="1/sqrt(0) = inf, 1/sqrt(inf) = 0; inf for x < 0"),
    _row("Sqrt", division.sqrt, "table and two Newton steps", ulp=0.8, domain="x >= 0",
         specials="sqrt(inf) = inf; 0 for x < 0"),
)  # fmt: skip

EXPONENTIAL: tuple[Row, ...] = (
    _row("Celu", activations.celu, "max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1)", ulp=2.0),
    _row("Cosh", exponential.cosh, "h + 1/(4h), h = exp(|x|)/2", ulp=1.6),
    _row("Elu", activations.elu, "x or alpha (exp(x) - 1)", ulp=1.7),
    _row("Erf", exponential.erf, "1 - exp(-g(|x|)) with a polynomial g", ulp=3.0),
    _row("Exp", exponential.exp, "2^k times a polynomial", ulp=0.9, domain="results from 2^-126",
         specials="0 below -87.3365, inf above 88.7228"),
    _row("Gelu", activations.gelu, "x/2 (1 + erf(x / sqrt 2)), or x sigmoid(2u) for approximate=tanh", ulp=4.0,
         domain="in units of |x|"),
    _row("Mish", activations.mish, "x n / (n + 2), n = u (u + 2), u = exp(x)", ulp=4.5, domain="x > -87",
         specials="0 below -87.3365"),
    _row("Selu", activations.selu, "gamma x or gamma alpha (exp(x) - 1)", ulp=2.2),
    _row("Sigmoid", exponential.sigmoid, "1 / (1 + exp(-x))", ulp=2.6, domain="x > -87", specials="0 below -87"),
    _row("Sinh", exponential.sinh, "a polynomial up to 1, then h - 1/(4h)", ulp=1.8),
    _row("Softplus", activations.softplus, "max(x, 0) + log1p(exp(-|x|))", ulp=2.0, domain="x > -87",
         specials="0 below -87.3365"),
    _row("Softsign", activations.softsign, "x / (1 + |x|)", ulp=3.0),
    _row("Tanh", exponential.tanh, "(1 - u) / (1 + u), u = exp(-2|x|)", ulp=3.5),
)  # fmt: skip

LOGARITHM: tuple[Row, ...] = (
    _row("Acosh", logarithm.acosh, "log1p(t + sqrt(t (t + 2))), t = x - 1", ulp=3.0, domain="1 <= x < 2^127",
         specials="0 for x < 1, inf from 2^127"),
    _row("Asinh", logarithm.asinh, "log1p(a + a^2 / (1 + sqrt(1 + a^2)))", ulp=2.0, domain="|x| < 2^127",
         specials="+-inf from 2^127"),
    _row("Atanh", logarithm.atanh, "log1p(2a / (1 - a)) / 2", ulp=2.2, domain="|x| <= 1",
         specials="+-inf from 1"),
    _row("Log", logarithm.log, "exponent and a polynomial", ulp=0.9, domain="x >= 2^-126",
         specials="-inf for x <= 0, inf for inf"),
    _row("Pow", powers.power, "exp(y ln|x|) with ln|x| in two parts", ulp=4.0, domain="x > 0, or whole y", **TWO,
         specials="x^0 = 1, 0^y = 0 or inf; x < 0: |x|^y, negative if the whole part of y is odd"),
)  # fmt: skip

TRIGONOMETRIC: tuple[Row, ...] = (
    _row("Acos", trigonometric.acos, "asin around pi/2, by the half angle near 1", ulp=2.0, domain="|x| <= 1",
         specials="the value at +-1 beyond"),
    _row("Asin", trigonometric.asin, "a polynomial, by the half angle above 1/2", ulp=3.0, domain="|x| <= 1",
         specials="the value at +-1 beyond"),
    _row("Atan", trigonometric.atan, "a polynomial in min(|x|, 1/|x|)", ulp=2.2),
    _row("Cos", trigonometric.cos, "half turns taken off, then a polynomial", ulp=2.0,
         domain="|x| < 8; to 30000 absolute error 1.2e-7", specials="in [-1, 1] everywhere"),
    _row("Sin", trigonometric.sin, "half turns taken off, then a polynomial", ulp=2.0,
         domain="|x| < 8; to 30000 absolute error 1.2e-7", specials="in [-1, 1] everywhere"),
    _row("Tan", trigonometric.tan, "sin / cos", ulp=4.0, domain="|x| < 8"),
)  # fmt: skip

ROWS = (*EXACT, *ROUNDED, *DIVISION, *EXPONENTIAL, *LOGARITHM, *TRIGONOMETRIC)
