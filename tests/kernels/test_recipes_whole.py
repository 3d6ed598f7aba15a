"""Recipes on Int, Long and Bool, comparisons, selection: exact, in pairs of edge cases and at random."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pfcomp.ir.model import DType
from pfcomp.kernels.elementwise import Immediate
from pfcomp.kernels.recipes import relations, whole
from tests.kernels.harness import HOST
from tests.kernels.recipe_bench import VECTOR, Array, apply

BOOL, INT, LONG, FLOAT, DOUBLE = DType.BOOL, DType.INT, DType.LONG, DType.FLOAT, DType.DOUBLE
COUNT = VECTOR
SAME = 4000
"""Pairs of equal numbers."""


def edges(dtype: DType) -> Array:
    if dtype in (FLOAT, DOUBLE):
        tiny = np.finfo(HOST[dtype]).smallest_normal
        return np.array([0, -0.0, 1, -1, tiny, -tiny, 1.5 * tiny, np.inf, -np.inf], HOST[dtype])
    limits = np.iinfo(HOST[dtype])
    return np.array([0, 1, -1, 2, -2, 3, limits.min, limits.max, limits.min + 1], HOST[dtype])


def random(dtype: DType, seed: int) -> Array:
    """Numbers of all magnitudes."""
    rng = np.random.default_rng(seed)
    if dtype in (FLOAT, DOUBLE):
        return (np.exp2(rng.uniform(-40, 40, COUNT)) * rng.choice([-1, 1], COUNT)).astype(HOST[dtype])
    limits = np.iinfo(HOST[dtype])
    full = rng.integers(limits.min, limits.max, COUNT, HOST[dtype], endpoint=True)
    return full >> rng.integers(0, limits.bits, COUNT).astype(HOST[dtype])


def pair(dtype: DType) -> tuple[Array, Array]:
    a, b, sharp = random(dtype, 1), random(dtype, 2), edges(dtype)
    n = len(sharp)
    a[: n * n], b[: n * n] = np.repeat(sharp, n), np.tile(sharp, n)
    b[n * n : n * n + SAME] = a[n * n : n * n + SAME]
    return a, b


CONDITION = np.random.default_rng(3).integers(0, 2, COUNT).astype(np.int32)
PAIRS = {dtype: pair(dtype) for dtype in (INT, LONG, FLOAT, DOUBLE)}

UNARY: dict[str, Callable[[Array], Array]] = {
    "Abs": np.abs,
    "BitwiseNot": np.invert,
    "Identity": np.positive,
    "Neg": np.negative,
    "Relu": lambda x: np.maximum(x, 0),
    "Sign": np.sign,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Sub": np.subtract,
    "Sum": np.add,
}
LOGIC: dict[str, Callable[[Array, Array], Array]] = {
    "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor, "Max": np.maximum, "Min": np.minimum,
    "BitwiseAnd": np.logical_and, "BitwiseOr": np.logical_or, "BitwiseXor": np.logical_xor,
}  # fmt: skip
COMPARISONS: dict[str, Callable[[Array, Array], Array]] = {
    "Equal": np.equal, "Greater": np.greater, "GreaterOrEqual": np.greater_equal, "Less": np.less,
    "LessOrEqual": np.less_equal,
}  # fmt: skip
INTEGERS = pytest.mark.parametrize("dtype", [INT, LONG])


def test_every_row_is_tested() -> None:
    apart = {"BitShift", "Clip", "Div", "Mod", "Not", "Where", "IsInf", "IsNaN"}
    names = {row.op for row in (*whole.ROWS, *relations.ROWS)}
    assert names == {*UNARY, *BINARY, *LOGIC, *COMPARISONS, *apart}


@INTEGERS
@pytest.mark.parametrize("op", sorted(UNARY))
def test_unary(op: str, dtype: DType) -> None:
    a, _ = PAIRS[dtype]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(apply(op, [(dtype, a)], dtype), UNARY[op](a))


@INTEGERS
@pytest.mark.parametrize("op", sorted(BINARY))
def test_binary(op: str, dtype: DType) -> None:
    a, b = PAIRS[dtype]
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(apply(op, [(dtype, a), (dtype, b)], dtype), BINARY[op](a, b))


@INTEGERS
def test_shifts(dtype: DType) -> None:
    a, _ = PAIRS[dtype]
    count = np.random.default_rng(4).integers(0, dtype.bits, COUNT).astype(HOST[dtype])
    operands = [(dtype, a), (dtype, count)]
    np.testing.assert_array_equal(apply("BitShift", operands, dtype, direction="LEFT"), a << count)
    np.testing.assert_array_equal(apply("BitShift", operands, dtype, direction="RIGHT"), a >> count)


@INTEGERS
def test_division(dtype: DType) -> None:
    a, b = PAIRS[dtype]
    divisor = np.where(b == 0, 7, b).astype(HOST[dtype])
    operands = [(dtype, a), (dtype, divisor)]
    with np.errstate(over="ignore"):
        floored, remainder = np.floor_divide(a, divisor), np.mod(a, divisor)
        towards_zero = floored + ((remainder != 0) & ((a < 0) != (divisor < 0)))
        np.testing.assert_array_equal(apply("Div", operands, dtype), towards_zero)
        np.testing.assert_array_equal(apply("Mod", operands, dtype), remainder)
        np.testing.assert_array_equal(apply("Mod", operands, dtype, fmod=1), np.fmod(a, divisor))


@INTEGERS
def test_known_operands(dtype: DType) -> None:
    a, _ = PAIRS[dtype]
    low, high = (dtype, Immediate(dtype, -5)), (dtype, Immediate(dtype, 100))
    np.testing.assert_array_equal(apply("Clip", [(dtype, a), low, high], dtype), np.clip(a, -5, 100))
    np.testing.assert_array_equal(apply("Sub", [high, (dtype, a)], dtype), HOST[dtype](100) - a)


@INTEGERS
@pytest.mark.parametrize("divisor", [1, 7, 64, -8, 1 << 30])
def test_division_by_known_numbers(divisor: int, dtype: DType) -> None:
    a, _ = PAIRS[dtype]
    operands = [(dtype, a), (dtype, Immediate(dtype, divisor))]
    floored, remainder = np.floor_divide(a, HOST[dtype](divisor)), np.mod(a, HOST[dtype](divisor))
    towards_zero = floored + ((remainder != 0) & ((a < 0) != (divisor < 0)))
    np.testing.assert_array_equal(apply("Div", operands, dtype), towards_zero)
    np.testing.assert_array_equal(apply("Mod", operands, dtype), remainder)
    np.testing.assert_array_equal(apply("Mod", operands, dtype, fmod=1), np.fmod(a, HOST[dtype](divisor)))
    np.testing.assert_array_equal(apply("Mul", operands, dtype), a * HOST[dtype](divisor))


@pytest.mark.parametrize("dtype", [FLOAT, INT, LONG, DOUBLE])
@pytest.mark.parametrize("op", sorted(COMPARISONS))
def test_comparisons(op: str, dtype: DType) -> None:
    a, b = PAIRS[dtype]
    np.testing.assert_array_equal(apply(op, [(dtype, a), (dtype, b)], BOOL), COMPARISONS[op](a, b))


@pytest.mark.parametrize("dtype", [FLOAT, INT, LONG, DOUBLE])
def test_selection(dtype: DType) -> None:
    a, b = PAIRS[dtype]
    zero = (dtype, Immediate(dtype, 0))
    unsigned = np.uint64 if dtype.bits == 64 else np.uint32
    for second, wanted in (((dtype, b), b), (zero, np.zeros_like(b))):
        got = apply("Where", [(BOOL, CONDITION), (dtype, a), second], dtype)
        np.testing.assert_array_equal(got.view(unsigned), np.where(CONDITION, a, wanted).view(unsigned))
    got = apply("Where", [(BOOL, CONDITION), zero, (dtype, b)], dtype)
    np.testing.assert_array_equal(got.view(unsigned), np.where(CONDITION, np.zeros_like(b), b).view(unsigned))


@pytest.mark.parametrize("op", sorted(LOGIC))
def test_logic(op: str) -> None:
    a, b = CONDITION, np.roll(CONDITION, 1)
    np.testing.assert_array_equal(apply(op, [(BOOL, a), (BOOL, b)], BOOL), LOGIC[op](a, b))


def test_bool_alone() -> None:
    a, b = CONDITION, np.roll(CONDITION, 1)
    for op in ("Not", "BitwiseNot"):
        np.testing.assert_array_equal(apply(op, [(BOOL, a)], BOOL), 1 - a)
    np.testing.assert_array_equal(apply("Identity", [(BOOL, a)], BOOL), a)
    np.testing.assert_array_equal(apply("Equal", [(BOOL, a), (BOOL, b)], BOOL), a == b)
    np.testing.assert_array_equal(apply("Where", [(BOOL, a), (BOOL, b), (BOOL, 1 - b)], BOOL), np.where(a, b, 1 - b))


@pytest.mark.parametrize("dtype", [FLOAT, DOUBLE])
@pytest.mark.parametrize("which", [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_infinities(which: tuple[int, int], dtype: DType) -> None:
    x, (positive, negative) = PAIRS[dtype][0], which
    got = apply("IsInf", [(dtype, x)], BOOL, detect_positive=positive, detect_negative=negative)
    np.testing.assert_array_equal(got, np.isinf(x) & np.where(x > 0, positive, negative).astype(bool))
    assert not apply("IsNaN", [(dtype, x)], BOOL).any()
