"""Recipes in double precision and conversions between all element types."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

import numpy as np
import pytest

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import doubles
from tests.kernels.harness import HOST
from tests.kernels.recipe_bench import VECTOR, Array, apply, distance, filled

BOOL, INT, LONG, FLOAT, DOUBLE = DType.BOOL, DType.INT, DType.LONG, DType.FLOAT, DType.DOUBLE
ROWS = {row.op: row for row in doubles.ROWS}


def signed(low: float, high: float, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    scale = np.exp2(rng.uniform(low, high, VECTOR)) * rng.uniform(0.5, 1, VECTOR)
    return scale * rng.choice([-1.0, 1.0], VECTOR)


UNARY: dict[str, tuple[Array, Callable[[Array], Array]]] = {
    "Abs": (signed(-1000, 1000), np.abs),
    "Ceil": (signed(-10, 70), np.ceil),
    "Clip": (signed(-1000, 1000), np.positive),
    "Exp": (np.random.default_rng(9).uniform(-708.3, 709.7, VECTOR), np.exp),
    "Floor": (signed(-10, 70), np.floor),
    "Identity": (signed(-1000, 1000), np.positive),
    "Log": (np.concatenate([np.exp2(signed(0, 9)[1::2]), np.exp2(signed(-9, 0)[1::2])]), np.log),
    "Neg": (signed(-1000, 1000), np.negative),
    "Reciprocal": (signed(-1020, 1020), np.reciprocal),
    "Relu": (signed(-1000, 1000), lambda x: np.maximum(x, 0)),
    "Round": (np.concatenate([signed(-3, 70)[1::2], np.arange(-(VECTOR // 4), VECTOR // 4) / 2]), np.round),
    "Sigmoid": (np.random.default_rng(9).uniform(-708, 60, VECTOR), lambda x: 1 / (1 + np.exp(-x))),
    "Sign": (signed(-1000, 1000), np.sign),
    "Tanh": (signed(-60, 4.3), np.tanh),
    "Sqrt": (np.abs(signed(-1020, 1020)), np.sqrt),
}
BINARY: dict[str, tuple[Array, Array, Callable[..., Array]]] = {
    "Add": (signed(-20, 20), signed(-20, 20, 5), np.add),
    "Div": (signed(-400, 400), signed(-400, 400, 5), np.divide),
    "Max": (signed(-3, 3), signed(-3, 3, 5), np.maximum),
    "Min": (signed(-3, 3), signed(-3, 3, 5), np.minimum),
    "Mul": (signed(-400, 400), signed(-400, 400, 5), np.multiply),
    "Sub": (signed(-20, 20), signed(-20, 20, 5), np.subtract),
    "Sum": (signed(-20, 20), signed(-20, 20, 5), np.add),
}


def test_every_row_is_tested() -> None:
    assert {*UNARY, *BINARY} == set(ROWS)


@pytest.mark.parametrize("op", sorted(UNARY))
def test_unary(op: str) -> None:
    x, reference = UNARY[op]
    got = apply(op, [(DOUBLE, x)], DOUBLE)
    assert distance(got, reference(x.astype(np.longdouble))).max() <= ROWS[op].ulp


@pytest.mark.parametrize("op", sorted(BINARY))
def test_binary(op: str) -> None:
    a, b, reference = BINARY[op]
    got = apply(op, [(DOUBLE, a), (DOUBLE, b)], DOUBLE)
    assert distance(got, reference(a.astype(np.longdouble), b.astype(np.longdouble))).max() <= ROWS[op].ulp


@pytest.mark.parametrize(
    ("op", "x", "y"),
    [
        ("Reciprocal", [0, -0.0, inf, -inf, 2], [inf, -inf, 0, 0, 0.5]),
        ("Exp", [0, inf, -inf, 710.5, -709, 1e300], [1, inf, 0, inf, 0, inf]),
        ("Log", [1, 0, inf, -1], [0, -inf, inf, -inf]),
        ("Sigmoid", [0, inf, -inf], [0.5, 1, 0]),
        ("Tanh", [0, inf, -inf], [0, 1, -1]),
        ("Sqrt", [0, inf, -4, 4], [0, inf, 0, 2]),
        ("Round", [0.5, 1.5, 2.5, -0.5, inf, -inf, 1e300], [0, 2, 2, 0, inf, -inf, 1e300]),
        ("Sign", [0, inf, -inf], [0, 1, -1]),
    ],
)
def test_specials(op: str, x: list[float], y: list[float]) -> None:
    got = apply(op, [(DOUBLE, filled(x, DOUBLE))], DOUBLE)
    np.testing.assert_array_equal(got[: len(y)], y)


def test_specials_of_division() -> None:
    cases = [(0, 0, 0), (1, 0, inf), (-1, 0, -inf), (inf, 2, inf), (1, inf, 0), (1e200, 1e-200, inf), (6, 3, 2)]
    a, b, wanted = (np.array(column, np.float64) for column in zip(*cases, strict=True))
    got = apply("Div", [(DOUBLE, filled(a, DOUBLE)), (DOUBLE, filled(b, DOUBLE))], DOUBLE)
    np.testing.assert_array_equal(got[: len(wanted)], wanted)


def _integers(dtype: type) -> Array:
    rng, limits = np.random.default_rng(7), np.iinfo(dtype)
    found = rng.integers(limits.min, limits.max, VECTOR, dtype, endpoint=True)
    found >>= rng.integers(0, limits.bits, VECTOR).astype(dtype)
    found[:6] = [0, 1, -1, limits.min, limits.max, 2]
    return found


def _reals(dtype: type) -> Array:
    found = signed(-30, 70, 8).astype(dtype)
    found[:9] = [0, -0.0, inf, -inf, 0.5, -0.5, np.finfo(dtype).smallest_normal, 3e38, -3e38]
    return found


SAMPLES: dict[DType, Array] = {
    BOOL: np.random.default_rng(6).integers(0, 2, VECTOR).astype(np.int32),
    INT: _integers(np.int32),
    LONG: _integers(np.int64),
    FLOAT: _reals(np.float32),
    DOUBLE: _reals(np.float64),
}


def _saturated(x: Array, dtype: type) -> Array:
    """Towards zero, the nearest end of the range beyond it."""
    limits = np.iinfo(dtype)
    return np.clip(np.trunc(x.astype(np.longdouble)), limits.min, limits.max).astype(dtype)


def _cast(x: Array, source: DType, target: DType) -> Array:
    if target is BOOL:
        return (x != 0).astype(np.int32)
    if source in (FLOAT, DOUBLE) and target in (INT, LONG):
        return _saturated(x, HOST[target])
    with np.errstate(over="ignore"):
        return x.astype(HOST[target])


@pytest.mark.parametrize("target", list(SAMPLES))
@pytest.mark.parametrize("source", list(SAMPLES))
def test_casts(source: DType, target: DType) -> None:
    x = SAMPLES[source]
    np.testing.assert_array_equal(apply("Cast", [(source, x)], target), _cast(x, source, target))
    if 64 in (source.bits, target.bits):
        one = x[: VECTOR // 2]
        np.testing.assert_array_equal(apply("Cast", [(source, one)], target, words=1), _cast(one, source, target))


def test_numbers_that_stand_for_zero() -> None:
    """Exponent fields of zero, whatever the mantissa."""
    for dtype, tiny in ((FLOAT, 1e-40), (DOUBLE, 1e-310)):
        x = filled([tiny, -tiny], dtype)
        assert not apply("Cast", [(dtype, x)], BOOL).any()
        assert apply("Equal", [(dtype, x), (dtype, np.zeros_like(x))], BOOL).all()
