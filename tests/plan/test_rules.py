"""Operators that become other jobs, with every attribute that matters, against onnxruntime; and what has no job."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels.api import Attribute, Spec
from pfcomp.plan.lower.build import Borders, build, refusal
from pfcomp.plan.source_graph import Tensor
from tests.programs.general import BOOL, DOUBLE, FLOAT, INT, LONG, Array, Case, agree, floats, ints
from tests.programs.general import Node as N

RNG = np.random.default_rng(5)
f = floats(RNG)


CASES: dict[str, Case] = {
    "Gemm": Case(
        (
            N("Gemm", "axc", "p", {"transA": 1, "alpha": 0.5, "beta": -2.0}),
            N("Gemm", "ax", "q", {"transA": 1, "alpha": 3.0}),
            N("Gemm", "tyc", "r", {"transB": 1, "beta": 0.25}),
        ),
        {"a": f(20, 9), "t": f(9, 20), "x": f(20, 12), "y": f(12, 20), "c": f(1, 12)},
        dict.fromkeys("pqr", FLOAT),
    ),
    "Trilu": Case(
        (
            N("Trilu", "x", "p"), N("Trilu", "xk", "q", {"upper": 0}), N("Trilu", "xm", "r"),
            N("Trilu", "i", "s", {"upper": 0}),
        ),
        {"x": f(2, 7, 9), "i": RNG.integers(-9, 9, (5, 4)).astype(np.int32)},
        {**dict.fromkeys("pqr", FLOAT), "s": INT},
        {"k": np.array(-2), "m": np.array(3)},
    ),
    "BatchNormalization": Case(
        (N("BatchNormalization", "xsbmv", "y", {"epsilon": 0.1}),),
        {"x": f(2, 5, 6, 7), "s": f(5), "b": f(5), "m": f(5), "v": np.abs(f(5))},
        {"y": FLOAT},
    ),
    "ReduceLogSumExp": Case(
        (N("ReduceLogSumExp", "xa", "p", {"keepdims": 0}), N("ReduceLogSumExp", "xb", "q"),
         N("ReduceLogSumExp", "x", "r")),
        {"x": 40 * f(6, 5, 9)},
        dict.fromkeys("pqr", FLOAT),
        {"a": ints(-1, 0), "b": ints(1)},
    ),
    "Reduce without axes": Case(
        (N("ReduceSum", ("x", "none"), "p", {"noop_with_empty_axes": 1}), N("ReduceMax", "x", "q", {"keepdims": 0})),
        {"x": f(6, 34)},
        dict.fromkeys("pq", FLOAT),
        {"none": ints()},
    ),
    "Tile": Case(
        (N("Tile", "xr", "p"), N("Tile", "xo", "q")),
        {"x": f(2, 3, 5)},
        dict.fromkeys("pq", FLOAT),
        {"r": ints(2, 1, 3), "o": ints(1, 1, 1)},
    ),
    "Slice with steps": Case(
        (
            N("Slice", ("x", "last", "first", "axes", "back"), "p"),
            N("Slice", ("x", "one", "beyond", "axes", "three"), "q"),
            N("Slice", ("x", "low", "high"), "r"),
        ),
        {"x": f(9, 17)},
        dict.fromkeys("pqr", FLOAT),
        {
            "last": ints(-1, 16), "first": ints(-100, 2), "axes": ints(0, -1), "back": ints(-1, -3),
            "one": ints(1, 0), "beyond": ints(100, 15), "three": ints(3, 2), "low": ints(-7), "high": ints(-2),
        },
    ),
    "Pad": Case(
        (
            N("Pad", "xp", "r", {"mode": "reflect"}), N("Pad", "xp", "e", {"mode": "edge"}),
            N("Pad", "xpv", "c"), N("Pad", "xm", "n"), N("Pad", ("x", "two", "", "axes"), "a"),
            N("Pad", "bpt", "B"),
        ),
        {"x": f(5, 7), "b": RNG.integers(0, 2, (3, 4)).astype(bool)},
        {**dict.fromkeys("recna", FLOAT), "B": BOOL},
        {
            "p": ints(1, 2, 0, 3), "v": np.array(-1.5, np.float32), "m": ints(-1, 2, 1, -3), "two": ints(1, 2),
            "axes": ints(-1), "t": np.array(True),
        },
    ),
    "TopK": Case(
        (
            N("TopK", "xk", "pq", {"axis": 0}), N("TopK", "xk", "rs", {"largest": 0}),
            N("TopK", "ik", "tu"),
        ),
        {"x": f(12, 20), "i": RNG.integers(-3, 3, (4, 9)).astype(np.int32)},
        {**dict.fromkeys("pr", FLOAT), **dict.fromkeys("qsu", LONG), "t": INT},
        {"k": ints(4)},
    ),
    "GatherElements and ScatterElements": Case(
        (
            N("GatherElements", "xi", "p"), N("GatherElements", "xi", "q", {"axis": -1}),
            N("ScatterElements", "xij", "r"), N("ScatterElements", "xij", "s", {"axis": -1, "reduction": "add"}),
        ),
        {"x": f(5, 6), "i": RNG.permutation(5)[:, None] - ints(0, 5), "j": f(5, 2)},
        dict.fromkeys("pqrs", FLOAT),
    ),
    "CumSum": Case(
        (N("CumSum", "xa", "p", {"reverse": 1}), N("CumSum", "xb", "q", {"exclusive": 1, "reverse": 1})),
        {"x": f(6, 21)},
        dict.fromkeys("pq", FLOAT),
        {"a": np.array(-1), "b": np.array(0)},
    ),
    "Split": Case(
        (N("Split", "xs", "pqr", {"axis": -1}), N("Split", "x", "t", {"num_outputs": 1})),
        {"x": f(4, 12)},
        dict.fromkeys("pqrt", FLOAT),
        {"s": ints(5, 1, 6)},
    ),
    "AveragePool with padding": Case(
        (N("AveragePool", "x", "y", {"pads": [1, 0, 0, 1], "kernel_shape": [2, 3], "count_include_pad": 1}),),
        {"x": f(2, 3, 6, 7)},
        {"y": FLOAT},
    ),
    "MaxPool of doubles": Case(
        (N("MaxPool", "x", "y", {"pads": [1, 1], "kernel_shape": [3]}),),
        {"x": -RNG.uniform(1, 2, (1, 2, 7))},
        {"y": DOUBLE},
        tolerance=1e-15,
    ),
    "ConvTranspose": Case(
        (N("ConvTranspose", "xw", "y", {"pads": [1, 0], "strides": [3], "dilations": [2]}),),
        {"x": f(2, 3, 7), "w": f(3, 4, 3)},
        {"y": FLOAT},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_onnxruntime(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    options = {"float_dtype": "float"}
    agree(tmp_path, case.nodes, case.inputs, case.outputs, case.constants, options, case.tolerance)


def node(op: str, inputs: str, outputs: str = "y", **attributes: Attribute) -> MNNode:
    return MNNode("n", op, tuple(inputs), tuple(outputs), tuple(attributes.items()))


FLOATS = {name: Spec((4, 6), DType.FLOAT) for name in "xyz"}
IMAGES = {name: Spec((1, 2, 6, 6), DType.FLOAT) for name in "xyz"}
INDEX = {"i": Spec((1,), DType.LONG)}


@pytest.mark.parametrize(
    ("job", "specs", "reason"),
    [
        (node("Slice", "xii"), FLOATS, "operand 1 must be a constant"),
        (node("ReduceSum", "xi"), FLOATS, "operand 1 must be a constant"),
        (node("CumSum", "xi"), FLOATS, "operand 1 must be a constant"),
        (node("ArgMax", "x", select_last_index=1), FLOATS, "select_last_index is not supported"),
        (node("ConvTranspose", "xz", auto_pad="SAME_UPPER"), IMAGES, "auto_pad; give the pads"),
        (node("Mystery", "x"), FLOATS, "no kernel"),
    ],
)
def test_why_a_node_has_no_job(job: MNNode, specs: Mapping[str, Spec], reason: str) -> None:
    assert refusal(job, {**specs, **INDEX}, {}) == reason


def test_what_only_says_how_to_lower_is_not_kept() -> None:
    constants: dict[str, Array] = {"s": ints(1), "e": ints(3), "k": np.full(6, 2, np.float32)}
    shapes = {"x": (4, 6), "y": (2, 6), "z": (2, 6)}
    tensors = [Tensor(n, s, "FLOAT") for n, s in shapes.items()]
    tensors += [Tensor(n, a.shape, "FLOAT" if n == "k" else "INT64") for n, a in constants.items()]
    nodes = [node("Slice", "xse"), node("Mul", "yk", "z")]
    graph = build(nodes, tensors, constants, Borders(("x",), (), ("z",)))
    assert [(n.op, n.inputs) for n in graph.nodes] == [("Slice", ("x",)), ("Mul", ("y", "k"))]
    assert list(graph.constants) == ["k"]
