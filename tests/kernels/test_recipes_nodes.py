"""Nodes with several steps: fusion, mixed element types, copies in words, many vectors; costs and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from pfcomp.ir.elements import CARRIERS
from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels.elementwise import Immediate, cost, refuse
from pfcomp.kernels.fusion import steps_of
from pfcomp.kernels.recipes.row import Row
from pfcomp.kernels.table import NAMES, ROWS
from tests.kernels.recipe_bench import VECTOR, apply, compute, element, emit

BOOL, INT, LONG, FLOAT, DOUBLE = DType.BOOL, DType.INT, DType.LONG, DType.FLOAT, DType.DOUBLE
CHAINS = (
    ("Exp", "Log", "Tanh", "Erf", "Sigmoid", "Atan"),
    ("Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "Softplus"),
)
ATTRIBUTES = {"BitShift": {"direction": "LEFT"}, "Mod": {"fmod": 1}}


def chain(ops: tuple[str, ...]) -> MNNode:
    body = tuple(element(f"n{k}", op, (f"v{k}",), f"v{k + 1}") for k, op in enumerate(ops))
    return MNNode("chain", "Fused", ("v0",), (f"v{len(ops)}",), body=body)


def numbers(count: int = 1) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.1, 0.9, count * VECTOR).astype(np.float32)


def _types(row: Row) -> list[DType]:
    return list(row.inputs) * max(row.least, row.most or 2) if len(row.inputs) == 1 else list(row.inputs)


@pytest.mark.parametrize("count", [1, 2])
def test_every_row_packs_and_costs_what_it_emits(count: int) -> None:
    for row in ROWS:
        types, attributes = _types(row), ATTRIBUTES.get(row.op, {})
        node = element("n", row.op, len(types), **attributes)
        places = {f"x{k}": 100 * k for k in range(len(types))}
        dtypes = {**{f"x{k}": t for k, t in enumerate(types)}, "y": row.output}
        packed = emit(node, dtypes, places, {"y": 0}, {}, count)
        mau, alu = cost(row.op, types, row.output, node.attributes)
        units = packed.stats.counts.units
        assert units["mau-calc"] == mau * count, row
        assert units["alu"] >= alu * count, row


@pytest.mark.parametrize("ops", CHAINS)
def test_long_chains_are_the_same_for_any_number_of_vectors(ops: tuple[str, ...]) -> None:
    node, last = chain(ops), f"v{len(ops)}"
    inner = {f"v{k}": FLOAT for k in range(1, len(ops))}
    x = numbers(5)
    got = compute(node, {"v0": (FLOAT, x)}, {last: FLOAT}, inner)[last]
    for start in (0, 4 * VECTOR):
        part = compute(node, {"v0": (FLOAT, x[start : start + VECTOR])}, {last: FLOAT}, inner)[last]
        np.testing.assert_array_equal(got[start : start + VECTOR], part)


def test_many_vectors_of_one_operator() -> None:
    x = numbers(33)
    got = apply("Exp", [(FLOAT, x)], FLOAT)
    np.testing.assert_allclose(got, np.exp(x), rtol=2e-7)


def test_body_results_can_be_outputs() -> None:
    body = (element("e", "Exp", ("x",), "e"), element("n", "Neg", ("e",), "n"))
    node = MNNode("both", "Fused", ("x",), ("e", "n"), body=body)
    x = numbers()
    got = compute(node, {"x": (FLOAT, x)}, {"e": FLOAT, "n": FLOAT})
    np.testing.assert_array_equal(got["n"], -got["e"])
    np.testing.assert_allclose(got["e"], np.exp(x), rtol=2e-7)


def test_reciprocal_of_a_root() -> None:
    body = (element("s", "Sqrt", ("x",), "s"), element("r", "Reciprocal", ("s",), "r"))
    node = MNNode("both", "Fused", ("x",), ("r",), body=body)
    both = MNNode("both", "Fused", ("x",), ("r", "s"), body=body)
    assert _operators(node, FLOAT) == ["Rsqrt"]
    assert _operators(both, FLOAT) == ["Sqrt", "Reciprocal"]
    assert _operators(node, DOUBLE) == ["Sqrt", "Reciprocal"]
    x = numbers()
    for dtype, tolerance in ((FLOAT, 2e-7), (DOUBLE, 1e-15)):
        got = compute(node, {"x": (dtype, x.astype(CARRIERS[dtype]))}, {"r": dtype}, {"s": dtype})["r"]
        np.testing.assert_allclose(got, 1 / np.sqrt(x.astype(CARRIERS[dtype])), rtol=tolerance)


def _operators(node: MNNode, dtype: DType) -> list[str]:
    return [step.op for step in steps_of(node, dict.fromkeys("xsr", dtype))]


MIXED = MNNode(
    "mixed",
    "Fused",
    ("x", "seven", "three"),
    ("y",),
    body=(
        element("a", "Cast", ("x",), "long"),
        element("b", "Mod", ("long", "seven"), "rest"),
        element("c", "Less", ("rest", "three"), "small"),
        element("d", "Where", ("small", "long", "rest"), "chosen"),
        element("e", "Cast", ("chosen",), "y"),
    ),
)
INNER = {"long": LONG, "rest": LONG, "small": BOOL, "chosen": LONG}


@pytest.mark.parametrize(("source", "words"), [(INT, 2), (LONG, 1), (LONG, 2)])
def test_a_body_of_several_element_types(source: DType, words: int) -> None:
    x = np.random.default_rng(2).integers(-(10**6), 10**6, VECTOR * words // 2)
    constants = {"seven": (LONG, Immediate(LONG, 7)), "three": (LONG, Immediate(LONG, 3))}
    got = compute(MIXED, {"x": (source, x), **constants}, {"y": INT}, INNER, words)["y"]
    np.testing.assert_array_equal(got, np.where(np.mod(x, 7) < 3, x, np.mod(x, 7)))


def test_doubles_inside_a_single_precision_body() -> None:
    body = (
        element("a", "Cast", ("x",), "wide"),
        element("b", "Sqrt", ("wide",), "root"),
        element("c", "Cast", ("root",), "y"),
    )
    node, x = MNNode("f", "Fused", ("x",), ("y",), body=body), numbers()
    got = compute(node, {"x": (FLOAT, x)}, {"y": FLOAT}, {"wide": DOUBLE, "root": DOUBLE})["y"]
    np.testing.assert_array_equal(got, np.sqrt(x.astype(np.float64)).astype(np.float32))


@pytest.mark.parametrize(
    ("op", "inputs", "output", "attributes", "reason"),
    [
        ("Hardmax", [FLOAT], FLOAT, {}, "no kernel"),
        ("Sin", [DOUBLE], DOUBLE, {}, "no kernel for Double to Double"),
        ("Add", [FLOAT, INT], FLOAT, {}, "no kernel for Float, Int to Float"),
        ("Add", [FLOAT] * 3, FLOAT, {}, "3 operands"),
        ("Mod", [FLOAT, FLOAT], FLOAT, {}, "Mod of Float with fmod=0; ONNX wants fmod=1"),
        ("Cast", [FLOAT], INT, {"to": 12}, "Cast to element type 12, which the device does not have"),
        ("Cast", [FLOAT], INT, {"to": 6}, ""),
        ("Where", [BOOL, LONG, LONG], LONG, {}, ""),
        ("Where", [BOOL, BOOL, BOOL], BOOL, {}, ""),
    ],
)
def test_refusals(op: str, inputs: list[DType], output: DType, attributes: dict[str, int], reason: str) -> None:
    assert refuse(op, inputs, output, tuple(attributes.items())) == reason


def test_the_operators_of_the_front_end_have_rows_for_float() -> None:
    wanted = (
        "Abs Neg Exp Log Sqrt Reciprocal Sigmoid Tanh Erf Sign Floor Ceil Round Relu Sin Cos Tan Asin Acos Atan Sinh "
        "Cosh Asinh Acosh Atanh LeakyRelu HardSigmoid Add Sub Mul Div Max Min Pow Mod Equal Less Greater LessOrEqual "
        "GreaterOrEqual IsNaN IsInf And Or Xor Not BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Where Cast Identity"
    )
    assert set(wanted.split()) <= set(NAMES)
