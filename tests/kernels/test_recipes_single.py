"""Recipes in single precision against extended precision: errors in units in the last place, and special cases."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, inf

import numpy as np
import pytest
from numpy.typing import NDArray

from pfcomp.ir.model import DType
from pfcomp.kernels.elementwise import Immediate
from pfcomp.kernels.recipes import single
from tests.kernels.recipe_bench import VECTOR, apply, distance, filled

FLOAT = DType.FLOAT
Floats = NDArray[np.float32]
Extended = NDArray[np.longdouble]
COUNT = 2 * VECTOR
ROWS = {row.op: row for row in single.ROWS}
ERF = np.vectorize(erf, otypes=[np.float64])


def random(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def even(low: float, high: float, seed: int = 0) -> Floats:
    return random(seed).uniform(low, high, COUNT).astype(np.float32)


def scales(low: float, high: float, seed: int = 0) -> Floats:
    """Positive numbers, their logarithms evenly distributed between those of 2^low and 2^high."""
    return np.exp2(random(seed).uniform(low, high, COUNT)).astype(np.float32)


def signed(low: float, high: float, seed: int = 0) -> Floats:
    return scales(low, high, seed) * random(seed + 1).choice(np.array([-1, 1], np.float32), COUNT)


def whole(low: int, high: int, seed: int = 0) -> Floats:
    return random(seed).integers(low, high, COUNT).astype(np.float32)


def reach(x: Floats, most: float, seed: int = 0) -> Floats:
    """Exponents y for which |y ln x| stays below `most`."""
    return (even(-most, most, seed) / np.log(x)).astype(np.float32)


ABOUT_ONE = np.exp2(even(-1, 1, 3))
WIDE = scales(-120, 120, 4)

UNARY: dict[str, tuple[Floats, Callable[[Extended], Extended]]] = {
    "Abs": (signed(-126, 127), np.abs),
    "Acos": (even(-1, 1), np.arccos),
    "Acosh": (1 + scales(-22, 126.9), np.arccosh),
    "Asin": (even(-1, 1), np.arcsin),
    "Asinh": (signed(-60, 126.9), np.arcsinh),
    "Atan": (signed(-20, 100), np.arctan),
    "Atanh": (np.clip(signed(-40, 0), -0.9999999, 0.9999999), np.arctanh),
    "Ceil": (signed(-10, 60), np.ceil),
    "Celu": (signed(-30, 7), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "Cos": (even(-8, 8), np.cos),
    "Cosh": (signed(-30, 6.48), np.cosh),
    "Elu": (signed(-30, 7), lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
    "Erf": (signed(-30, 3), lambda x: ERF(x.astype(np.float64)).astype(np.longdouble)),
    "Exp": (even(-87.33, 88.7), np.exp),
    "Floor": (signed(-10, 60), np.floor),
    "Identity": (signed(-126, 127), np.positive),
    "Log": (scales(-126, 128), np.log),
    "Mish": (
        np.concatenate([even(-87, 90)[:VECTOR], even(-30, 5)[:VECTOR]]),
        lambda x: x * np.tanh(np.log1p(np.exp(x))),
    ),
    "Neg": (signed(-126, 127), np.negative),
    "Reciprocal": (signed(-126, 125.5), np.reciprocal),
    "Relu": (signed(-126, 127), lambda x: np.maximum(x, 0)),
    "Round": (np.concatenate([signed(-3, 30)[:VECTOR], whole(-9999, 9999)[:VECTOR] / 2]), np.round),
    "Rsqrt": (scales(-126, 128), lambda x: 1 / np.sqrt(x)),
    "Selu": (
        signed(-30, 7),
        lambda x: np.longdouble(1.0507009873554805) * np.where(
            x > 0, x, np.longdouble(1.6732632423543772) * np.expm1(np.minimum(x, 0))),
    ),
    "Sigmoid": (even(-87, 100), lambda x: 1 / (1 + np.exp(-x))),
    "Sign": (signed(-126, 127), np.sign),
    "Sin": (even(-8, 8), np.sin),
    "Sinh": (signed(-30, 6.48), np.sinh),
    "Softplus": (even(-87, 90), lambda x: np.logaddexp(np.longdouble(0), x)),
    "Softsign": (signed(-60, 127), lambda x: x / (1 + np.abs(x))),
    "Sqrt": (scales(-126, 128), np.sqrt),
    "Tan": (even(-8, 8), np.tan),
    "Tanh": (signed(-30, 4), np.tanh),
}  # fmt: skip

BINARY: dict[str, tuple[Floats, Floats, Callable[..., Extended], dict[str, object]]] = {
    "Add": (signed(-20, 20), signed(-20, 20, 5), np.add, {}),
    "Div": (signed(-60, 30), signed(-30, 60, 5), np.divide, {}),
    "Max": (even(-2, 2), even(-2, 2, 5), np.maximum, {}),
    "Min": (even(-2, 2), even(-2, 2, 5), np.minimum, {}),
    "Mod": (signed(-5, 15), signed(-3, 20, 5), np.fmod, {"fmod": 1}),
    "Mul": (signed(-60, 60), signed(-60, 60, 5), np.multiply, {}),
    "PRelu": (signed(-20, 20), even(-2, 2, 5), lambda x, slope: np.where(x > 0, x, slope * x), {}),
    "Pow": (ABOUT_ONE, reach(ABOUT_ONE, 30), np.power, {}),
    "Sub": (signed(-20, 20), signed(-20, 20, 5), np.subtract, {}),
    "Sum": (signed(-20, 20), signed(-20, 20, 5), np.add, {}),
}

APART = {"Clip", "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu"}


def test_every_row_is_tested() -> None:
    assert {*UNARY, *BINARY, *APART} == set(ROWS)


@pytest.mark.parametrize("op", sorted(UNARY))
def test_unary(op: str) -> None:
    x, reference = UNARY[op]
    got = apply(op, [(FLOAT, x)], FLOAT)
    assert distance(got, reference(x.astype(np.longdouble))).max() <= ROWS[op].ulp


@pytest.mark.parametrize("op", sorted(BINARY))
def test_binary(op: str) -> None:
    a, b, reference, attributes = BINARY[op]
    got = apply(op, [(FLOAT, a), (FLOAT, b)], FLOAT, **attributes)
    wanted = reference(a.astype(np.longdouble), b.astype(np.longdouble))
    assert distance(got, wanted).max() <= ROWS[op].ulp


def test_pow_over_the_whole_range() -> None:
    got = apply("Pow", [(FLOAT, WIDE), (FLOAT, reach(WIDE, 80))], FLOAT)
    assert distance(got, np.power(WIDE.astype(np.longdouble), reach(WIDE, 80))).max() <= 9


def test_whole_powers_of_negative_numbers() -> None:
    x, y = signed(-8, 8), whole(-10, 11, 5)
    got = apply("Pow", [(FLOAT, x), (FLOAT, y)], FLOAT)
    assert distance(got, np.power(x.astype(np.longdouble), y)).max() <= ROWS["Pow"].ulp


@pytest.mark.parametrize("exponent", [-3, -1, -0.5, 0, 0.5, 1, 2, 3, 6, 7, 1.7])
def test_powers_with_a_known_exponent(exponent: float) -> None:
    x = scales(-6, 6)[:VECTOR]
    got = apply("Pow", [(FLOAT, x), (FLOAT, Immediate(FLOAT, exponent))], FLOAT)
    wanted = np.power(x.astype(np.longdouble), np.longdouble(np.float32(exponent)))
    assert distance(got, wanted).max() <= ROWS["Pow"].ulp


@pytest.mark.parametrize("alpha", [0.01, 0.0, -0.5, 2.0])
def test_leaky_relu(alpha: float) -> None:
    x = signed(-20, 20)
    wanted = np.where(x > 0, x, x * np.longdouble(np.float32(alpha)))
    assert distance(apply("LeakyRelu", [(FLOAT, x)], FLOAT, alpha=alpha), wanted).max() <= ROWS["LeakyRelu"].ulp


def test_hard_functions() -> None:
    x = even(-5, 5)
    inner = x.astype(np.longdouble) / 6 + 0.5
    got = apply("HardSigmoid", [(FLOAT, x)], FLOAT, alpha=1 / 6)
    assert np.abs(got - np.clip(inner, 0, 1)).max() <= ROWS["HardSigmoid"].ulp * 2.0**-23
    error = np.abs(apply("HardSwish", [(FLOAT, x)], FLOAT) - x * np.clip(inner, 0, 1))
    assert (error <= ROWS["HardSwish"].ulp * np.spacing(np.abs(x))).all()


def test_scaled_elu() -> None:
    x = signed(-20, 6)
    low = np.minimum(x, 0).astype(np.longdouble)
    got = apply("Elu", [(FLOAT, x)], FLOAT, alpha=0.7)
    assert distance(got, np.where(x > 0, x, np.longdouble(np.float32(0.7)) * np.expm1(low))).max() <= ROWS["Elu"].ulp
    got = apply("Celu", [(FLOAT, x)], FLOAT, alpha=0.7)
    assert distance(got, np.where(x > 0, x, np.longdouble(0.7) * np.expm1(low / 0.7))).max() <= ROWS["Celu"].ulp


def test_gelu() -> None:
    x = even(-8, 8)
    exact = x.astype(np.float64)
    got = apply("Gelu", [(FLOAT, x)], FLOAT)
    assert (np.abs(got - exact * (1 + ERF(exact * np.sqrt(0.5))) / 2) <= ROWS["Gelu"].ulp * np.spacing(np.abs(x))).all()
    got = apply("Gelu", [(FLOAT, x)], FLOAT, approximate="tanh")
    wanted = exact * (1 + np.tanh(np.sqrt(2 / np.pi) * (exact + 0.044715 * exact**3))) / 2
    assert (np.abs(got - wanted) <= ROWS["Gelu"].ulp * np.spacing(np.abs(x))).all()


@pytest.mark.parametrize("op", ["Sin", "Cos"])
def test_large_angles(op: str) -> None:
    x = even(-30000, 30000)
    wanted = {"Sin": np.sin, "Cos": np.cos}[op](x.astype(np.longdouble))
    assert np.abs(apply(op, [(FLOAT, x)], FLOAT) - wanted).max() <= 1.2e-7


def test_mod_of_whole_numbers() -> None:
    a, b = whole(-500000, 500000), np.resize(np.array([3, 7, -5, 2, 1, 10, -1], np.float32), COUNT)
    np.testing.assert_array_equal(apply("Mod", [(FLOAT, a), (FLOAT, b)], FLOAT, fmod=1), np.fmod(a, b))


def test_clip() -> None:
    x, low, high = (FLOAT, even(-5, 5)), (FLOAT, Immediate(FLOAT, -1.0)), (FLOAT, Immediate(FLOAT, 2.0))
    np.testing.assert_array_equal(apply("Clip", [x, low, high], FLOAT), np.clip(x[1], -1, 2))
    np.testing.assert_array_equal(apply("Clip", [x, low], FLOAT), np.maximum(x[1], -1))
    np.testing.assert_array_equal(apply("Clip", [x], FLOAT), x[1])


def test_extremes_and_sums_of_many() -> None:
    terms = [even(-5, 5, k)[:VECTOR] for k in range(4)]
    operands = [(FLOAT, t) for t in terms]
    np.testing.assert_array_equal(apply("Max", operands, FLOAT), np.maximum.reduce(terms))
    np.testing.assert_array_equal(apply("Min", operands[:3], FLOAT), np.minimum.reduce(terms[:3]))
    np.testing.assert_array_equal(apply("Sum", operands, FLOAT), ((terms[0] + terms[1]) + terms[2]) + terms[3])


SPECIALS: dict[str, dict[float, float]] = {
    "Acos": {1: 0, -1: np.pi, 2: 0, inf: 0},
    "Acosh": {1: 0, 0: 0, inf: inf},
    "Asin": {0: 0, 1: np.pi / 2, -2: -np.pi / 2},
    "Asinh": {0: 0, inf: inf, -inf: -inf},
    "Atan": {0: 0, inf: np.pi / 2, -inf: -np.pi / 2},
    "Atanh": {0: 0, 1: inf, -1: -inf, 3: inf},
    "Ceil": {0: 0, inf: inf, -inf: -inf, 3e38: 3e38},
    "Cos": {0: 1},
    "Cosh": {0: 1, inf: inf, -inf: inf, 95: inf},
    "Elu": {0: 0, inf: inf, -inf: -1},
    "Erf": {0: 0, inf: 1, -inf: -1},
    "Exp": {0: 1, inf: inf, -inf: 0, 88.8: inf, -87.4: 0, 3e38: inf, -3e38: 0},
    "Floor": {0: 0, inf: inf, -inf: -inf, 3e38: 3e38},
    "Log": {1: 0, 0: -inf, -1: -inf, inf: inf},
    "Mish": {0: 0, inf: inf, -inf: 0, 3e38: 3e38, -90: 0},
    "Reciprocal": {0: inf, inf: 0, -inf: 0, 3e38: 0},
    "Round": {0.5: 0, 1.5: 2, 2.5: 2, -0.5: 0, 8388607.5: 8388608, inf: inf, -inf: -inf, 3e38: 3e38},
    "Rsqrt": {0: inf, inf: 0, -1: inf},
    "Sigmoid": {0: 0.5, inf: 1, -inf: 0},
    "Sign": {0: 0, inf: 1, -inf: -1, 1e-37: 1},
    "Sinh": {0: 0, inf: inf, -inf: -inf, 95: inf},
    "Softplus": {inf: inf, -inf: 0},
    "Softsign": {0: 0, inf: 1, -inf: -1},
    "Sqrt": {0: 0, inf: inf, -4: 0},
    "Tanh": {0: 0, inf: 1, -inf: -1},
}


@pytest.mark.parametrize("op", sorted(SPECIALS))
def test_specials(op: str) -> None:
    arguments = list(SPECIALS[op])
    got = apply(op, [(FLOAT, filled(arguments, FLOAT))], FLOAT)[: len(arguments)]
    wanted = np.array(list(SPECIALS[op].values()), np.float32)
    np.testing.assert_array_max_ulp(got, wanted, 1)
    assert (np.isinf(got) == np.isinf(wanted)).all()


def test_minus_zero() -> None:
    x = filled([-0.0, -1e-40], FLOAT)
    assert (apply("Reciprocal", [(FLOAT, x)], FLOAT) == -inf).all()
    assert (apply("Sqrt", [(FLOAT, x)], FLOAT) == 0).all()


def test_results_that_are_infinite_have_no_mantissa() -> None:
    """Otherwise a host would see NaN."""
    x = filled(np.linspace(88.7, 90, 64), FLOAT)
    for op in ("Exp", "Sinh", "Cosh"):
        assert not np.isnan(apply(op, [(FLOAT, x)], FLOAT)).any()


PAIRS: dict[str, list[tuple[float, float, float]]] = {
    "Div": [
        (0, 0, 0), (1, 0, inf), (0.01, 0, inf), (-1, 0, -inf), (1, -0.0, -inf), (1, inf, 0), (inf, 2, inf),
        (-inf, 2, -inf), (1e30, 1e-30, inf), (1e-30, 1e30, 0), (6, 3, 2), (inf, inf, 0), (1, 3e38, 0),
    ],
    "Pow": [
        (0, 0, 1), (0, 2, 0), (0, -2, inf), (0, 0.1, 0), (inf, 2, inf), (inf, -2, 0), (inf, 0, 1), (1, inf, 1),
        (2, inf, inf), (0.5, inf, 0), (2, -inf, 0), (-2, 3, -8), (-2, 2, 4), (-1, 1e10, 1), (-inf, 3, -inf),
    ],
    "Mul": [(inf, 0, 0), (inf, -2, -inf), (1e30, 1e30, inf), (1e-30, 1e-30, 0)],
}  # fmt: skip


@pytest.mark.parametrize("op", sorted(PAIRS))
def test_specials_of_two_operands(op: str) -> None:
    a, b, wanted = (np.array(column, np.float32) for column in zip(*PAIRS[op], strict=True))
    got = apply(op, [(FLOAT, filled(a, FLOAT)), (FLOAT, filled(b, FLOAT))], FLOAT)[: len(wanted)]
    np.testing.assert_allclose(got, wanted, rtol=5e-7)
    assert (np.isinf(got) == np.isinf(wanted)).all()
