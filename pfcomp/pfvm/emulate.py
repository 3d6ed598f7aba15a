"""Element types that onnxruntime's CPU kernels lack, computed in a wider type and rounded after every operation.

float16 and bfloat16: onnxruntime has no CPU arithmetic for bfloat16 and would silently keep float16 chains in single
precision; here each node converts its inputs, computes in single precision and rounds its results (frontend.md 5).
Small integers compute in int32. A few float64 operations have single-precision kernels only.
"""

from __future__ import annotations

import onnx_ir as ir

_T = ir.DataType
_HALVES = frozenset({_T.FLOAT16, _T.BFLOAT16})
_SMALL_INTEGERS = frozenset({_T.INT8, _T.INT16, _T.UINT8})
_MOVES = frozenset(
    {"Cast", "Identity", "Reshape", "Transpose", "Slice", "Split", "Concat", "Gather", "Expand", "Squeeze", "Unsqueeze"}
)
"""Operations that move elements; onnxruntime has them for every type but bfloat16."""
_SINGLE_ONLY = frozenset({"Conv", "ConvTranspose", "AveragePool", "Erf", "HardSigmoid", "LeakyRelu", "Col2Im"})
"""Operations without a float64 kernel."""


def emulated(model: ir.Model) -> ir.Model:
    """The model itself, or a copy in which every node only uses types that onnxruntime computes with."""
    wider = [_wider_type(node) for node in model.graph]
    interface = [*model.graph.inputs, *model.graph.outputs]
    if not any(wider) and all(value.dtype != _T.BFLOAT16 for value in interface):
        return model
    copy: ir.Model = model.clone()
    for node, kind in zip(list(copy.graph), wider, strict=True):
        if kind is not None:
            _widen(node, *kind)
    _open_interface(copy.graph)
    return copy


def _open_interface(graph: ir.Graph) -> None:
    """bfloat16 inputs and outputs become float32 ones, because numpy arrays cannot carry them into onnxruntime."""
    for index, value in enumerate(graph.inputs):
        if value.dtype == _T.BFLOAT16:
            name = str(value.name)
            graph.initializers.pop(name, None)
            outer = ir.Value(name=name, shape=value.shape, type=ir.TensorType(_T.FLOAT))
            cast = _cast(outer, _T.BFLOAT16, f"{name}.narrow")
            graph.inputs[index] = outer
            value.name = f"{name}.inner"
            ir.convenience.replace_all_uses_with(value, cast.outputs[0])
            _prepend(graph, cast)
    for index, value in enumerate(graph.outputs):
        if value.dtype == _T.BFLOAT16:
            name = str(value.name)
            value.name = f"{name}.narrow"
            cast = _cast(value, _T.FLOAT, name)
            graph.append(cast)
            graph.outputs[index] = cast.outputs[0]


def _prepend(graph: ir.Graph, node: ir.Node) -> None:
    if len(graph):
        graph.insert_before(graph[0], node)
    else:
        graph.append(node)


def _wider_type(node: ir.Node) -> tuple[frozenset[ir.DataType], ir.DataType] | None:
    """(types to replace, the type to compute in), None where the node runs as it is."""
    kinds = {value.dtype for value in (*node.inputs, *node.outputs) if value is not None and value.dtype is not None}
    if node.op_type == "Cast":
        return None
    if kinds & _HALVES:
        return _HALVES, _T.FLOAT
    if kinds & _SMALL_INTEGERS and node.op_type not in _MOVES:
        return _SMALL_INTEGERS, _T.INT32
    if _T.DOUBLE in kinds and node.op_type in _SINGLE_ONLY:
        return frozenset({_T.DOUBLE}), _T.FLOAT
    return None


def _widen(node: ir.Node, replaced: frozenset[ir.DataType], wide: ir.DataType) -> None:
    """Casts before and after one node, in place."""
    graph = node.graph
    if graph is None:
        return
    label = next(value.name for value in node.outputs if value.name)
    for index, value in enumerate(node.inputs):
        if value is not None and value.dtype in replaced:
            cast = _cast(value, wide, f"{label}.in{index}")
            graph.insert_before(node, cast)
            node.replace_input_with(index, cast.outputs[0])
    for index, value in enumerate(node.outputs):
        narrow = value.dtype
        if narrow is None or narrow not in replaced:
            continue
        cast = _cast(value, narrow, f"{label}.out{index}")
        result = cast.outputs[0]
        ir.convenience.replace_all_uses_with(value, result, replace_graph_outputs=True)
        cast.replace_input_with(0, value)
        result.name, value.name = value.name, f"{value.name}.wide"
        value.type = ir.TensorType(wide)  # a new object: the original model shares the old one
        graph.insert_after(node, cast)


def _cast(value: ir.Value, dtype: ir.DataType, name: str) -> ir.Node:
    node = ir.Node("", "Cast", [value], [ir.AttrInt64("to", int(dtype))], num_outputs=1, name=f"{name}.cast")
    result = node.outputs[0]
    result.name, result.shape, result.dtype = name, value.shape, dtype
    return node
