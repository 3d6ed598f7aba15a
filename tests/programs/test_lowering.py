"""Operators that become jobs of others, against onnxruntime: windows, tuples of indices, absent operands."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pfcomp.errors import UnsupportedError
from tests.programs.general import FLOAT, LONG, Case, Node, agree, floats, ints

RNG = np.random.default_rng(3)
f = floats(RNG)
WINDOWS = {"kernel_shape": [3, 3], "strides": [2, 2]}


N = Node
HALF = np.array(0.5, np.float32)
TUPLES = np.array([[0, 1], [3, -1], [4, 0]])
ELEMENTS = np.array([[0, 1, -1], [3, 2, 5]])
CASES: dict[str, Case] = {
    "largest of windows and where": Case(
        (N("MaxPool", "x", "yi", {**WINDOWS, "pads": [1, 1, 1, 1]}),), {"x": f(2, 4, 9, 10)}, {"y": FLOAT, "i": LONG}
    ),
    "windows beyond the end": Case((N("MaxPool", "x", "y", {**WINDOWS, "ceil_mode": 1}),), {"x": f(2, 4, 8, 10)},
                                   {"y": FLOAT}),
    "means of windows with their padding": Case(
        (N("AveragePool", "x", "y", {**WINDOWS, "pads": [1, 1, 1, 1], "count_include_pad": 1}),),
        {"x": f(2, 4, 8, 9)},
        {"y": FLOAT},
    ),
    "padding that keeps the size": Case(
        (N("Conv", "xw", "y", {"strides": [2, 2], "auto_pad": "SAME_LOWER"}),),
        {"x": f(2, 4, 8, 9), "w": f(3, 4, 3, 2)},
        {"y": FLOAT},
    ),
    "columns to image": Case(
        (N("Col2Im", "xik", "y", {"strides": [1, 2], "pads": [1, 0, 1, 0], "dilations": [1, 1]}),),
        {"x": f(2, 3 * 6, 7 * 3)},
        {"y": FLOAT},
        {"i": ints(6, 7), "k": ints(2, 3)},
    ),
    "largest elements": Case((N("TopK", "xk", "vi", {"axis": 1}),), {"x": f(20, 30)}, {"v": FLOAT, "i": LONG},
                             {"k": ints(5)}),
    "where the smallest elements are": Case(
        (N("TopK", "xk", "vi", {"axis": 0, "largest": 0}),), {"x": f(20, 30)}, {"i": LONG}, {"k": ints(3)}
    ),
    "rows by tuples": Case((N("GatherND", "xi", "y"),), {"x": f(5, 6, 7), "i": RNG.integers(-5, 5, (4, 3, 2))},
                           {"y": FLOAT}),
    "rows by tuples in batches": Case(
        (N("GatherND", "xi", "y", {"batch_dims": 1}),),
        {"x": f(5, 6, 7), "i": RNG.integers(-6, 6, (5, 3, 1))},
        {"y": FLOAT},
    ),
    "rows by constant tuples": Case((N("GatherND", "xi", "y", {"batch_dims": 1}),), {"x": f(5, 6, 7)}, {"y": FLOAT},
                                    {"i": RNG.integers(-6, 6, (5, 3, 1))}),
    "elements by constant indices": Case((N("GatherElements", "xi", "y", {"axis": 1}),), {"x": f(3, 7)}, {"y": FLOAT},
                                         {"i": ELEMENTS}),
    "rows to tuples": Case((N("ScatterND", "xiu", "y"),), {"x": f(5, 6, 7), "i": TUPLES, "u": f(3, 7)}, {"y": FLOAT}),
    "rows to constant tuples": Case((N("ScatterND", "xiu", "y"),), {"x": f(5, 6, 7), "u": f(3, 7)}, {"y": FLOAT},
                                    {"i": TUPLES}),
    "elements added at tuples": Case(
        (N("ScatterND", "xiu", "y", {"reduction": "add"}),),
        {"x": f(5, 6), "i": np.concatenate([TUPLES, TUPLES[:1]]), "u": f(4)},
        {"y": FLOAT},
    ),
    "elements to constant indices": Case((N("ScatterElements", "xiu", "y", {"axis": 1}),),
                                         {"x": f(3, 7), "u": f(2, 3)}, {"y": FLOAT}, {"i": ELEMENTS}),
    "one operand twice": Case((N("Mul", "xx", "y"), N("MatMul", "yy", "z")), {"x": f(20, 20)}, {"z": FLOAT}),
    "one bound only": Case((N("Clip", ("x", "", "h"), "y"), N("Clip", ("x", "h"), "z")), {"x": f(5, 6)},
                           {"y": FLOAT, "z": FLOAT}, {"h": HALF}),
    "nearest elements": Case(
        (
            N("Resize", ("x", "", "s"), "y", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
        ),
        {"x": f(1, 2, 5, 6)},
        {"y": FLOAT},
        {"s": np.array([1, 1, 2, 1.5], np.float32)},
    ),
    "between elements": Case(
        (N("Resize", ("x", "", "", "s"), "y", {"mode": "linear"}), N("Resize", ("x", "", "", "s"), "z", {
            "mode": "linear", "coordinate_transformation_mode": "align_corners"})),
        {"x": f(1, 2, 5, 6)},
        {"y": FLOAT, "z": FLOAT},
        {"s": ints(1, 2, 8, 3)},
    ),
    "cubic between elements": Case(
        (N("Resize", ("x", "", "s"), "y", {"mode": "cubic", "exclude_outside": 1}),),
        {"x": f(1, 2, 5, 6)},
        {"y": FLOAT},
        {"s": np.array([1, 1, 2, 2], np.float32)},
    ),
    "blocks": Case(
        (N("DepthToSpace", "x", "y", {"blocksize": 2, "mode": "CRD"}), N("SpaceToDepth", "y", "z", {"blocksize": 2})),
        {"x": f(2, 8, 3, 5)},
        {"y": FLOAT, "z": FLOAT},
    ),
    "one hot": Case((N("OneHot", "idv", "y"),), {"i": RNG.integers(-5, 5, 6)}, {"y": FLOAT},
                    {"d": ints(5), "v": np.array([0.5, 2], np.float32)}),
    "NaN where something is NaN": Case(
        (N("Log", "x", "l"), N("IsNaN", "l", "c"), N("Where", "cnl", "y")),
        {"x": np.abs(f(3, 4)) + 1},
        {"y": FLOAT},
        {"n": np.array(np.nan, np.float32)},
    ),
    "seven axes": Case((N("Transpose", "x", "y"), N("Add", "yx", "z")), {"x": f(2, 3, 2, 3, 2, 3, 2)}, {"z": FLOAT}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_onnxruntime(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    agree(tmp_path, case.nodes, case.inputs, case.outputs, case.constants, {"float_dtype": "float"})


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (N("Add", "hh", "y"), "Add x1 (element type UINT16"),
        (N("Det", "m", "y"), "Det x1 (no kernel)"),
        (N("ReduceProd", "ja", "y"), "ReduceProd x1 (ReduceProd of Long"),
        (N("Concat", "me", "y", {"axis": 1}), "Concat x1 (a tensor without elements)"),
    ],
)
def test_refuses_in_one_line(node: Node, reason: str, tmp_path: Path) -> None:
    inputs = {
        "h": np.ones((3, 4), np.uint16), "m": f(3, 3), "j": RNG.integers(1, 3, (3, 4)), "e": f(3, 0),
    }  # fmt: skip
    types = {"Add": 4, "Det": FLOAT, "ReduceProd": LONG, "Concat": FLOAT}
    read = {name: array for name, array in inputs.items() if name in node.inputs}
    with pytest.raises(UnsupportedError) as caught:
        agree(tmp_path, [node], read, {"y": types[node.op]}, {"a": ints(1)})
    assert caught.value.code == "PF0401"
    assert reason in caught.value.what
    assert "program.py:1" in caught.value.what
