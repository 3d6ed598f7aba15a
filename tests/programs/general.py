"""Compiles ONNX models of any kind through the real stages, runs them on the emulator, compares with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from pfcomp.app.model import GPFNApp, TensorInfo
from pfcomp.emulator import Machine
from pfcomp.layout.image import from_image, to_image
from tests.programs.harness import compile_model, machine_fill, write

Array = NDArray[np.generic]

HOST = {"Float": np.float32, "Double": np.float64, "Int": np.int32, "Long": np.int64, "Bool": np.bool_}


@dataclass(frozen=True)
class Node:
    """An ONNX node by operator, operands, results and attributes."""

    op: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    attributes: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Case:
    """Nodes in one model, its inputs and constants, ONNX element types of its outputs; `tolerance` as in `agree`."""

    nodes: tuple[Node, ...]
    inputs: Mapping[str, Array]
    outputs: Mapping[str, int]
    constants: Mapping[str, Array] = field(default_factory=dict)
    tolerance: float = 1e-5


def floats(generator: np.random.Generator) -> Callable[..., Array]:
    """A function that draws single-precision normal numbers of a shape."""
    return lambda *shape: generator.standard_normal(shape).astype(np.float32)


def ints(*values: int) -> Array:
    """A vector of 64-bit integers: axes, shapes, positions."""
    return np.array(values, np.int64)


def model(
    nodes: Sequence[Node], inputs: Mapping[str, Array], outputs: Mapping[str, int], constants: Mapping[str, Array]
) -> bytes:
    """`outputs` has ONNX element types; shapes and the types of all other values are inferred."""
    protos = []
    for number, node in enumerate(nodes):
        made = helper.make_node(node.op, node.inputs, node.outputs, name=f"n{number}", **(node.attributes or {}))
        made.metadata_props.append(onnx.StringStringEntryProto(key="pfcomp.source", value=f"program.py:{number + 1}"))
        protos.append(made)
    graph = helper.make_graph(
        protos,
        "g",
        [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
            for n, a in inputs.items()
        ],
        [helper.make_tensor_value_info(n, element, None) for n, element in outputs.items()],
        initializer=[numpy_helper.from_array(a, n) for n, a in constants.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return onnx.shape_inference.infer_shapes(proto, strict_mode=True, data_prop=True).SerializeToString()


def run(app: GPFNApp, inputs: Mapping[str, Array], machine: Machine | None = None) -> dict[str, Array]:
    """Execute an app where it was linked, with guard words behind every output that must survive."""
    machine = machine or Machine()
    for tensor in app.outputs:
        machine_fill(machine, tensor.begin, -(-(tensor.end - tensor.begin) // 64) * 64 + 64)
    for constant in app.constants:
        write(machine, constant.info.begin, constant.image)
    for tensor in (*app.inputs, *app.state):
        write(machine, tensor.begin, to_image(np.asarray(inputs[tensor.name], HOST[tensor.dtype]), tensor.layout))
    machine.run(machine.load(app.program))
    return {tensor.name: read(machine, tensor) for tensor in app.outputs}


def read(machine: Machine, tensor: TensorInfo) -> Array:
    image = np.stack([machine.dram.read(g, tensor.begin, tensor.end - tensor.begin) for g in range(4)])
    return from_image(image, tensor.layout, tensor.shape, np.dtype(HOST[tensor.dtype]))


def reference(proto: bytes, inputs: Mapping[str, Array]) -> dict[str, Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(proto, options, providers=["CPUExecutionProvider"])
    names = [o.name for o in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(inputs)), strict=True))


def agree(
    directory: Path,
    nodes: Sequence[Node],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, int],
    constants: Mapping[str, Array] | None = None,
    options: Mapping[str, object] | None = None,
    tolerance: float = 1e-5,
) -> GPFNApp:
    """Compile, run and compare; `tolerance` is relative to the largest magnitude of each output. Returns the app."""
    proto = model(nodes, inputs, outputs, constants or {})
    app = compile_model(directory, proto, options)
    results, expected = run(app, inputs), reference(proto, inputs)
    for name, array in expected.items():
        compare(name, results[name], np.asarray(array), tolerance)
    return app


def compare(name: str, found: Array, expected: Array, tolerance: float) -> None:
    """Equal for integers and truth values; floats within the tolerance of the largest magnitude."""
    assert found.shape == expected.shape
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected, err_msg=name)
        return
    scale = max(float(np.abs(expected).max(initial=0)), 1e-30)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale, err_msg=name)


FLOAT, LONG, BOOL, INT, DOUBLE = (
    TensorProto.FLOAT,
    TensorProto.INT64,
    TensorProto.BOOL,
    TensorProto.INT32,
    TensorProto.DOUBLE,
)
