"""A compiled function on `pfvm:*`: the compiled ONNX, run by onnxruntime on the host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.errors import UnsupportedError
from pfcomp.ir.elements import Array
from pfcomp.pfvm import PFVM
from pfcomp.runtime.handle import UPDATE, Handle, HostValue
from pfcomp.runtime.iospec import IOSpec
from pfcomp.runtime.tracing import recorded

# ONNX element type -> torch's name
TORCH_NAMES: dict[ir.DataType, str] = {
    ir.DataType.FLOAT: "Float",
    ir.DataType.DOUBLE: "Double",
    ir.DataType.FLOAT16: "Half",
    ir.DataType.BFLOAT16: "BFloat16",
    ir.DataType.INT64: "Long",
    ir.DataType.INT32: "Int",
    ir.DataType.INT16: "Short",
    ir.DataType.INT8: "Char",
    ir.DataType.UINT8: "Byte",
    ir.DataType.BOOL: "Bool",
}


class PfvmFunction:
    """Runs a compiled ONNX model; tensors stay on the host. See `pfcomp.runtime.functions.Program`.

    `provider` is `cpu`, `cuda` or `cuda:<index>`. Raises SourceError PF0315 for a file that is not a model and
    DeviceError PF0318 for a provider that onnxruntime does not have here.
    """

    on_device = False

    def __init__(self, provider: str, path: Path, label: str) -> None:
        self.label = label
        self._vm = PFVM(path, provider)
        graph = self._vm.model.graph
        specs = {value.name: spec_of(value) for value in graph.inputs}
        results = {value.name: spec_of(value) for value in graph.outputs}
        self.state = {name: specs[name] for name in self._vm.state}
        self.inputs = {name: specs[name] for name in self._vm.input_specs}
        self.outputs = {name: results[name] for name in self._vm.output_specs}
        self.mutated = frozenset(name for name in self.state if name + UPDATE in results)
        self.figures = {"nodes": len(graph)}
        self._initial = dict(self._vm.state)

    def new_value(self, name: str) -> HostValue:
        """A tensor of zeros for the input or state `name`."""
        spec = (self.inputs | self.state)[name]
        return HostValue(spec, np.zeros(spec.shape, spec.host_type))

    def bind(self, name: str, source: Array | Handle) -> HostValue:
        """The tensor to run input `name` on; an array must have as many elements as the spec says."""
        spec = self.inputs[name]
        array = source if isinstance(source, np.ndarray) else source.read()
        return HostValue(spec, np.asarray(array, spec.host_type).reshape(spec.shape))

    def initial(self, name: str) -> Array:
        """The state's contents at compile time."""
        return np.array(self._initial[name], self.state[name].host_type)

    def call(self, inputs: Mapping[str, HostValue], state: Mapping[str, HostValue]) -> dict[str, HostValue]:
        """Run now; returns new output tensors and updates the mutated state."""
        arrays = {name: value.array for name, value in {**inputs, **state}.items()}
        with recorded("device", self.label):
            results = self._vm.run(arrays)
        for name in self.mutated:
            state[name].write(np.asarray(self._vm.state[name]))
        return {name: _owned(spec, results[name]) for name, spec in self.outputs.items()}


def initial_states(path: Path) -> dict[str, Array]:
    """First contents of the states of the model in `path`. Raises SourceError PF0315 for a file that is not a model."""
    vm = PFVM(path)
    specs = {value.name: spec_of(value) for value in vm.model.graph.inputs}
    return {name: np.array(contents, specs[name].host_type) for name, contents in vm.state.items()}


def spec_of(value: Any) -> IOSpec:
    """Spec of a model's input or output; it has no device layout. Raises UnsupportedError PF0622."""
    name = TORCH_NAMES.get(value.dtype)
    if name is None:
        what = f"{value.name} has elements of type {value.dtype}"
        raise UnsupportedError("PF0622", what, hint=f"use {', '.join(TORCH_NAMES.values())}")
    return IOSpec(value.name, tuple(int(size) for size in value.shape), name, name)


def _owned(spec: IOSpec, array: Any) -> HostValue:
    """A value with memory of its own: onnxruntime may return an input."""
    return HostValue(spec, np.array(array, spec.host_type))
