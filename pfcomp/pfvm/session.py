"""onnxruntime sessions: fixed thread counts, silent, on the CPU or a CUDA device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime

from pfcomp.errors import DeviceError

_ERRORS_ONLY = 3
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}


def open_session(
    model: bytes | str,
    device: str = "cpu",
    *,
    threads: int = 1,
    optimise: bool = True,
    weights: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """An onnxruntime session of serialised ONNX or of a file.

    `device` is `cpu`, `cuda` or `cuda:<index>`; `weights` are the contents (onnx_ir tensors) of initializers that the
    model only refers to. Raises DeviceError PF0318 where the provider is missing or the model
    does not load.
    """
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    options.use_deterministic_compute = True
    level = onnxruntime.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_BASIC if optimise else level.ORT_DISABLE_ALL
    arrays = {name: _array(tensor) for name, tensor in weights.items()}
    if arrays:
        values = [_ort_value(arrays[name], tensor.dtype) for name, tensor in weights.items()]
        options.add_external_initializers(list(arrays), values)
    try:
        session = onnxruntime.InferenceSession(model, options, providers=[_provider(device)])
    except Exception as error:
        raise DeviceError("PF0318", f"onnxruntime does not load the model: {_first_line(error)}") from error
    session.pfcomp_weights = arrays  # onnxruntime reads them where they are and does not own them
    return session


def _array(tensor: Any) -> Any:
    array = np.ascontiguousarray(tensor.numpy())
    return array.view(np.uint16) if tensor.dtype == ir.DataType.BFLOAT16 else array


def _ort_value(array: Any, dtype: ir.DataType) -> Any:
    return onnxruntime.OrtValue.ortvalue_from_numpy_with_onnx_type(array, int(dtype))


def _provider(device: str) -> Any:
    kind, _, index = device.partition(":")
    name = PROVIDERS.get(kind)
    if name is None:
        raise DeviceError("PF0318", f"there is no reference device '{device}'", hint="use cpu, cuda or cuda:<index>")
    if name not in onnxruntime.get_available_providers():
        raise DeviceError("PF0318", f"onnxruntime has no {name} here", hint="use pfvm:cpu")
    return (name, {"device_id": index or "0"}) if kind == "cuda" else name


def run_session(session: Any, feeds: dict[str, Any]) -> list[Any]:
    """Outputs in the model's order; DeviceError PF0318 where a kernel fails."""
    try:
        return list(session.run(None, feeds))
    except Exception as error:
        raise DeviceError("PF0318", f"onnxruntime failed: {_first_line(error)}") from error


def run_nodes(nodes: Sequence[ir.Node], wanted: Sequence[ir.Value]) -> list[Any] | None:
    """Values of a part of a graph that depends on constants only, None where onnxruntime has no kernel for it.

    `nodes` are in order and closed: each input is a constant or made by one of them.
    """
    model = _closed_model(nodes, wanted)
    try:
        return run_session(open_session(model, optimise=False), {})
    except DeviceError:
        return None


def _closed_model(nodes: Sequence[ir.Node], wanted: Sequence[ir.Value]) -> bytes:
    """The part as a model of its own, serialised; the original graph is not touched."""
    copies: dict[ir.Value, ir.Value] = {}
    initializers = []
    for node in nodes:
        for value in node.inputs:
            if value is not None and value.const_value is not None and value not in copies:
                copies[value] = _copy(value)
                initializers.append(copies[value])
    made = []
    for node in nodes:
        for value in node.outputs:
            copies[value] = _copy(value)
        inputs = [None if value is None else copies[value] for value in node.inputs]
        outputs = [copies[value] for value in node.outputs]
        made.append(ir.Node(node.domain, node.op_type, inputs, list(node.attributes.values()), outputs=outputs))
    version = next((n.graph.opset_imports.get("", 18) for n in nodes if n.graph is not None), 18)
    outputs = [copies[value] for value in wanted]
    graph = ir.Graph([], outputs, nodes=made, initializers=initializers, opset_imports={"": version}, name="constants")
    proto = ir.to_proto(ir.Model(graph, ir_version=10))
    return proto.SerializeToString(deterministic=True)  # type: ignore[no-any-return]


def _copy(value: ir.Value) -> ir.Value:
    return ir.Value(name=value.name, shape=value.shape, type=value.type, const_value=value.const_value)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
