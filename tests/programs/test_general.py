"""Graphs beyond element-wise ones, through all stages, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.layout.image import to_image
from tests.programs.general import BOOL, DOUBLE, FLOAT, LONG, Case, Node, agree, floats, ints, read
from tests.programs.harness import write

RNG = np.random.default_rng(11)
f = floats(RNG)


N = Node
CASES: dict[str, Case] = {
    "sum": Case((N("ReduceSum", "xa", "y", {"keepdims": 0}),), {"x": f(8, 20)}, {"y": FLOAT}, {"a": ints(1)}),
    "sum of columns": Case(
        (N("ReduceSum", "xa", "y"), N("Add", "yx", "z")), {"x": f(8, 20)}, {"z": FLOAT}, {"a": ints(0)}
    ),
    "mean": Case(
        (N("ReduceMean", "xa", "y", {"keepdims": 0}),), {"x": f(3, 5, 7, 9)}, {"y": FLOAT}, {"a": ints(1, 3)}
    ),
    "matmul": Case((N("MatMul", "xw", "y"),), {"x": f(8, 20), "w": f(20, 12)}, {"y": FLOAT}),
    "gemm": Case(
        (N("Gemm", "xwb", "y", {"transB": 1, "alpha": 0.5}), N("Relu", "y", "z")),
        {"x": f(64, 100), "w": f(32, 100), "b": f(32)},
        {"z": FLOAT},
    ),
    "chain": Case(
        (N("MatMul", "xw", "y"), N("MatMul", "yv", "z")),
        {"x": f(16, 40), "w": f(40, 32), "v": f(32, 10)},
        {"z": FLOAT},
    ),
    "vectors": Case((N("MatMul", "xw", "y"), N("MatMul", "wz", "v")), {"x": f(20), "w": f(20, 12), "z": f(12)},
                    {"y": FLOAT, "v": FLOAT}),
    "transpose": Case(
        (N("Transpose", "x", "y", {"perm": (1, 0)}), N("Add", "yz", "o")),
        {"x": f(16, 40), "z": f(40, 16)},
        {"o": FLOAT},
    ),
    "concat": Case((N("Concat", "xz", "y", {"axis": 1}), N("Relu", "y", "o")), {"x": f(16, 40), "z": f(16, 3)},
                   {"o": FLOAT}),
    "pad": Case((N("Pad", "xp", "o"),), {"x": f(5, 7)}, {"o": FLOAT}, {"p": ints(1, 2, 0, 3)}),
    "slice": Case((N("Slice", "xse", "o"),), {"x": f(5, 70)}, {"o": FLOAT}, {"s": ints(1, 20), "e": ints(4, 55)}),
    "split": Case((N("Split", "ws", "ab", {"axis": 1}), N("Mul", "ab", "z")), {"w": f(6, 34)}, {"z": FLOAT},
                  {"s": ints(17, 17)}),
    "take": Case((N("Gather", "wi", "y", {"axis": 1}),), {"w": f(50, 32)}, {"y": FLOAT}, {"i": ints(3, 1, 30, -1)}),
    "expand": Case((N("Expand", "ws", "y"),), {"w": f(5, 1, 7)}, {"y": FLOAT}, {"s": ints(5, 9, 7)}),
    "reshape": Case((N("Reshape", "ws", "y"), N("Relu", "y", "z")), {"w": f(6, 35)}, {"z": FLOAT},
                    {"s": ints(10, 21)}),
    "softmax": Case((N("Softmax", "x", "y", {"axis": 1}),), {"x": f(20, 30)}, {"y": FLOAT}),
    "log softmax": Case((N("LogSoftmax", "x", "y", {"axis": -1}),), {"x": f(2, 20, 10)}, {"y": FLOAT}),
    "where": Case((N("Less", "xz", "c"), N("Where", "cxz", "y")), {"x": f(20, 30), "z": f(30)},
                  {"y": FLOAT, "c": BOOL}),
    "transcendental": Case((N("Exp", "x", "y"), N("Sqrt", "y", "q"), N("Div", "qx", "z")),
                           {"x": 1 + np.abs(f(20, 30))}, {"z": FLOAT}),
    "mish": Case((N("Mish", "x", "y"),), {"x": 5 * f(20, 30)}, {"y": FLOAT}),
    "layer normalisation": Case(
        (
            N("ReduceMean", "xa", "m"), N("Sub", "xm", "c"), N("Mul", "cc", "s"), N("ReduceMean", "sa", "v"),
            N("Add", "ve", "w"), N("Sqrt", "w", "d"), N("Div", "cd", "y"),
        ),
        {"x": f(4, 16, 64)},
        {"y": FLOAT},
        {"a": ints(-1), "e": np.array(1e-5, np.float32)},
    ),
    "attention": Case(
        (
            N("Transpose", "k", "K", {"perm": (0, 1, 3, 2)}), N("MatMul", "qK", "s"), N("Mul", "sc", "t"),
            N("Softmax", "t", "p", {"axis": -1}), N("MatMul", "pv", "o"),
            N("Transpose", "o", "O", {"perm": (0, 2, 1, 3)}), N("Reshape", "Oh", "y"),
        ),
        {name: f(2, 4, 16, 8) for name in "qkv"},
        {"y": FLOAT},
        {"c": np.array(0.35, np.float32), "h": ints(2, 16, 32)},
    ),
    "casts": Case((N("Cast", "x", "y", {"to": LONG}), N("Cast", "y", "z", {"to": FLOAT}), N("Mul", "zx", "o")),
                  {"x": f(6, 34) * 10}, {"o": FLOAT, "y": LONG}),
    "integers": Case((N("Add", "xy", "o"),), {"x": RNG.integers(-9, 9, (5, 6)), "y": RNG.integers(-9, 9, 6)},
                     {"o": LONG}),
    "double": Case((N("Add", "xy", "o"),), {"x": RNG.standard_normal((5, 6)), "y": RNG.standard_normal(6)},
                   {"o": DOUBLE}, tolerance=1e-14),
    "convolution": Case(
        (N("Conv", "xwb", "y", {"pads": [1, 1, 1, 1]}), N("Relu", "y", "z")),
        {"x": f(2, 3, 10, 12), "w": f(8, 3, 3, 3), "b": f(8)},
        {"z": FLOAT},
    ),
    "convolution in groups": Case(
        (N("Conv", "xw", "y", {"pads": [0, 1, 1, 0], "strides": [2, 2], "dilations": [1, 2], "group": 2}),),
        {"x": f(2, 4, 11, 13), "w": f(6, 2, 3, 3)},
        {"y": FLOAT},
    ),
    "transposed convolution": Case(
        (N("ConvTranspose", "xwb", "y", {"pads": [1] * 4, "strides": [2, 2], "output_padding": [1, 0], "group": 2}),),
        {"x": f(2, 4, 5, 6), "w": f(4, 3, 3, 3), "b": f(6)},
        {"y": FLOAT},
    ),
    "largest of windows": Case(
        (N("MaxPool", "x", "y", {"pads": [1, 1, 1, 1], "strides": [2, 2], "kernel_shape": [3, 3]}),),
        {"x": f(2, 4, 9, 10)},
        {"y": FLOAT},
    ),
    "mean of windows": Case(
        (N("AveragePool", "x", "y", {"pads": [1, 1, 1, 1], "strides": [2, 2], "kernel_shape": [3, 3]}),),
        {"x": f(2, 4, 9, 10)},
        {"y": FLOAT},
    ),
    "embedding": Case(
        (N("Gather", "wi", "y"), N("Relu", "y", "z")),
        {"w": f(50, 32), "i": RNG.integers(0, 50, (4, 6))},
        {"z": FLOAT},
    ),
    "running sum": Case((N("CumSum", "ws", "z"),), {"w": f(6, 34)}, {"z": FLOAT}, {"s": np.array(1)}),
    "elements added to their own tensor": Case(
        (N("ScatterElements", "xix", "y", {"reduction": "add"}),),
        {"x": f(12, 20), "i": RNG.integers(0, 12, (12, 20))},
        {"y": FLOAT},
    ),
    "correct answers": Case(
        (
            N("ArgMax", "x", "y", {"axis": 1, "keepdims": 0}), N("Equal", "yt", "e"), N("Cast", "e", "c", {"to": LONG}),
            N("ReduceSum", "ca", "s", {"keepdims": 0}),
        ),
        {"x": f(125, 10), "t": RNG.integers(0, 10, 125)},
        {"s": LONG},
        {"a": ints(0)},
    ),
    "a row less itself": Case(
        (N("Exp", "x", "e"), N("Slice", "est", "y"), N("Sub", "ey", "z")),
        {"x": f(5, 9)},
        {"z": FLOAT},
        {"s": ints(0), "t": ints(1)},
    ),
    "scalars": Case((N("ReduceSum", "x", "s", {"keepdims": 0}), N("Div", "es", "o")), {"x": f(6, 34)}, {"o": FLOAT},
                    {"e": np.array(1, np.float32)}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_agrees_with_onnxruntime(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    options = {"float_dtype": "float"}
    agree(tmp_path, case.nodes, case.inputs, case.outputs, case.constants, options, case.tolerance)


@pytest.mark.parametrize("name", ["gemm", "softmax", "layer normalisation", "largest of windows", "casts"])
def test_double_precision_inside(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    options = {"float_dtype": "double"}
    app = agree(tmp_path, case.nodes, case.inputs, case.outputs, case.constants, options, tolerance=1e-6)
    assert {(t.dtype, t.torch_dtype) for t in app.inputs} == {("Double", "Float")}


def test_mixed_precision_rounds_the_operands_of_products(tmp_path: Path) -> None:
    case = CASES["gemm"]
    agree(tmp_path, case.nodes, case.inputs, case.outputs, options={"float_dtype": "mixed"}, tolerance=1e-2)


def test_values_that_do_not_fit_are_stored_aside(tmp_path: Path) -> None:
    names = "abcdefgh"
    nodes = [N("Softmax", name, name.upper(), {"axis": 1}) for name in names]
    nodes += [N("ReduceMax", (name.upper(), "axes"), (f"{name}1",)) for name in names]
    nodes += [N("Div", (name.upper(), f"{name}1"), (f"{name}2",)) for name in names]
    inputs = {name: f(512, 64) for name in names}
    small = {"float_dtype": "float", "sram_budget": 0.012}
    results = {f"{name}2": FLOAT for name in names}
    app = agree(tmp_path, nodes, inputs, results, {"axes": ints(1)}, options=small)
    assert any(constant.info.name.endswith("@spill") for constant in app.constants)


def test_padding_of_an_input_may_hold_anything(tmp_path: Path) -> None:
    """An input can be another program's output, whose padding is whatever was computed there."""
    nodes = [N("MatMul", "xw", "y"), N("ReduceMax", "xa", "m")]
    inputs = {"x": f(5, 7), "w": f(7, 3)}
    constants = {"a": ints(1)}
    options = {"float_dtype": "float"}
    app = agree(tmp_path, nodes, inputs, {"y": FLOAT, "m": FLOAT}, constants, options)
    machine = Machine()
    for tensor in app.inputs:
        held = to_image(np.ones(tensor.shape, np.float32), tensor.layout).view(np.uint32)
        image = to_image(inputs[tensor.name], tensor.layout).view(np.uint32)
        junk = np.where(held == 0, np.uint32(0x7149F2CA), image)
        write(machine, tensor.begin, junk.view(np.uint64))
    for constant in app.constants:
        write(machine, constant.info.begin, constant.image)
    machine.run(machine.load(app.program))
    found = {tensor.name: read(machine, tensor) for tensor in app.outputs}
    np.testing.assert_allclose(found["y"], inputs["x"] @ inputs["w"], rtol=0, atol=1e-5)
    np.testing.assert_array_equal(found["m"], inputs["x"].max(1, keepdims=True))
