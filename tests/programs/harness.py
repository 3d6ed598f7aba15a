"""Compile a small ONNX graph through the real stages, run the app on the emulator, and the chip's own arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from pfcomp.app import load_app
from pfcomp.app.model import GPFNApp
from pfcomp.artifacts import write_zst
from pfcomp.emulator import Machine
from pfcomp.layout.image import from_image, to_image
from pfcomp.options import resolve
from pfcomp.stages import codegen, schedule, simulate

Arrays = Mapping[str, NDArray[np.float32]]
GUARD = 0xDEAD_BEEF_DEAD_BEEF
FLOAT_TINY = np.finfo(np.float32).tiny


@dataclass(frozen=True)
class Op:
    """A node: operator, operand names, result name."""

    op: str
    inputs: Sequence[str]
    output: str


def model(ops: Sequence[Op], inputs: Mapping[str, tuple[int, ...]], outputs: Sequence[str], constants: Arrays) -> bytes:
    """An ONNX model with inferred shapes; every node carries a source line."""
    nodes = []
    for number, op in enumerate(ops):
        node = helper.make_node(op.op, list(op.inputs), [op.output], name=f"n{number}")
        node.metadata_props.append(onnx.StringStringEntryProto(key="pfcomp.source", value=f"program.py:{number + 1}"))
        nodes.append(node)
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in outputs],
        initializer=[numpy_helper.from_array(np.asarray(a, np.float32), n) for n, a in constants.items()],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    return onnx.shape_inference.infer_shapes(proto, strict_mode=True).SerializeToString()


def compile_model(directory: Path, proto: bytes, options: Mapping[str, object] | None = None) -> GPFNApp:
    """Run schedule, simulate and codegen in `directory` and load the app as a user would."""
    write_zst(directory / "model.onnx.zst", proto)
    resolved = resolve(options)
    for stage in (schedule, simulate, codegen):
        stage.run(directory, resolved)
    return load_app(directory / "model.app")


def run_app(app: GPFNApp, inputs: Arrays, machine: Machine | None = None) -> dict[str, NDArray[np.float32]]:
    """Execute an app where it was linked, with guard words behind every output that must survive."""
    machine = machine or Machine()
    for tensor in app.outputs:
        machine_fill(machine, tensor.begin, -(-(tensor.end - tensor.begin) // 64) * 64 + 64)
    for constant in app.constants:
        write(machine, constant.info.begin, constant.image)
    for tensor in app.inputs:
        write(machine, tensor.begin, to_image(np.asarray(inputs[tensor.name], np.float32), tensor.layout))
    machine.run(machine.load(app.program))
    return {tensor.name: read(machine, tensor) for tensor in app.outputs}


def machine_fill(machine: Machine, begin: int, count: int) -> None:
    for group in range(4):
        machine.dram.write(group, begin, np.full(count, GUARD, np.uint64))


def write(machine: Machine, begin: int, image: NDArray[np.uint64]) -> None:
    for group in range(4):
        machine.dram.write(group, begin, image[group])


def read(machine: Machine, tensor: object) -> NDArray[np.float32]:
    image = np.stack([machine.dram.read(g, tensor.begin, tensor.end - tensor.begin) for g in range(4)])
    return from_image(image, tensor.layout, tensor.shape, np.dtype(np.float32))


def flush(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """What the adder does to tiny results and to -0: +0."""
    return np.where(np.abs(x) < FLOAT_TINY, np.float32(0), x)


def chip_mul(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    """isa.md 18.2 on the mantissas as integers, then one rounding (18.1); finite operands only."""
    x, y = (v.view(np.uint32).astype(np.int64) for v in np.broadcast_arrays(a, b))
    ma, mb = x & 0x7FFFFF | 0x800000, y & 0x7FFFFF | 0x800000
    low = (ma & 31) * (mb & 31)
    product = (ma * mb - low + np.where(low, 256, 0)).astype(np.float64)  # 48 bits: exact
    size = np.ldexp(product, (x >> 23 & 255) + (y >> 23 & 255) - 300)
    zero = ((x >> 23 & 255) == 0) | ((y >> 23 & 255) == 0)
    signed = np.where((x ^ y) >> 31, -size, size)
    return flush(np.where(zero, 0, signed).astype(np.float32))


def reference(ops: Sequence[Op], values: Arrays, outputs: Sequence[str]) -> dict[str, NDArray[np.float32]]:
    """The graph by the chip's documented rules, in numpy."""
    known = {name: np.asarray(a, np.float32) for name, a in values.items()}
    for op in ops:
        x = [known[name] for name in op.inputs]
        known[op.output] = np.asarray(_RULES[op.op](*x), np.float32)
    return {name: known[name] for name in outputs}


def _sum(*x: NDArray[np.float32]) -> NDArray[np.float32]:
    total = x[0]
    for term in x[1:]:
        total = flush(total + term)
    return total


_RULES = {
    "Add": lambda a, b: flush(a + b),
    "Sub": lambda a, b: flush(a - b),
    "Mul": chip_mul,
    "Neg": lambda a: -a,
    "Abs": np.abs,
    "Relu": lambda a: np.where(a > 0, a, np.where(np.signbit(a) & (a == 0), a, np.float32(0))),
    "Max": lambda *x: np.maximum.reduce(np.broadcast_arrays(*x)),
    "Min": lambda *x: np.minimum.reduce(np.broadcast_arrays(*x)),
    "Identity": lambda a: a,
    "Sum": _sum,
}
