"""Construction of ONNX nodes and of scalar and small constants, with names that depend on the graph alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.dtypes import ONNX_TYPES

Operand = Any
"""An `ir.Value`, a Python number, or None for an optional input that is absent."""


_BOOLEAN = frozenset(
    {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "IsNaN", "IsInf", "Not", "And", "Or", "Xor"}
)
_POSITIONS = frozenset({("ArgMax", 0), ("ArgMin", 0), ("TopK", 1), ("MaxPool", 1)})
"""Operator and number of a result that holds positions."""


class Builder:
    """Collects nodes in order; the exporter names their results."""

    def __init__(self, reserved: set[str]) -> None:
        self.nodes: list[ir.Node] = []
        self.initializers: list[ir.Value] = []
        self._reserved = set(reserved)
        self._constants: dict[tuple[str, tuple[int, ...], bytes], ir.Value] = {}

    def op(self, kind: str, *inputs: Operand, outputs: int = 1, **attributes: Any) -> Any:
        """Append a node; returns its value, or the list of values where `outputs` is more than 1."""
        attrs = ir.convenience.convert_attributes({k: v for k, v in attributes.items() if v is not None})
        node = ir.Node("", kind, list(inputs), attrs, num_outputs=outputs)
        _set_types(node)
        self.nodes.append(node)
        return node.outputs[0] if outputs == 1 else list(node.outputs)

    def constant(self, data: Any, dtype: ir.DataType) -> ir.Value:
        """An initializer holding `data` in `dtype`; equal constants are made once."""
        array = np.ascontiguousarray(np.asarray(data).astype(_numpy_type(dtype)))
        array = array.reshape(np.shape(data))
        key = (dtype.name, array.shape, array.tobytes())
        if key not in self._constants:
            name = self.free_name(_constant_name(array, dtype))
            tensor = ir.Tensor(array, dtype=dtype, name=name)
            self._constants[key] = self.initializer(name, tensor)
        return self._constants[key]

    def initializer(self, name: str, tensor: Any) -> ir.Value:
        """Register a named tensor (an onnx_ir tensor protocol object)."""
        value = ir.Value(name=name, shape=ir.Shape(tensor.shape), type=ir.TensorType(tensor.dtype), const_value=tensor)
        self.initializers.append(value)
        return value

    def free_name(self, wanted: str) -> str:
        """`wanted`, or the next `wanted_1`, ... that nothing has yet."""
        name, count = wanted, 0
        while name in self._reserved:
            count += 1
            name = f"{wanted}_{count}"
        self._reserved.add(name)
        return name

    def ints(self, values: Sequence[int]) -> ir.Value:
        """A rank 1 int64 constant: shapes, axes, starts."""
        return self.constant(np.asarray(list(values), dtype=np.int64), ir.DataType.INT64)

    def as_type(self, operand: Operand, dtype: ir.DataType) -> ir.Value:
        """The operand as a value of `dtype`: a constant for a number, a Cast where the type differs."""
        if not isinstance(operand, ir.Value):
            return self.constant(operand, dtype)
        if operand.dtype == dtype:
            return operand
        result = self.op("Cast", operand, to=int(dtype))
        result.dtype, result.shape = dtype, operand.shape
        return result

    def reshape(self, value: ir.Value, shape: Sequence[int]) -> ir.Value:
        """The value in another static shape; itself where the shape is the same."""
        if value.shape is not None and tuple(value.shape) == tuple(shape):
            return value
        result = self.op("Reshape", value, self.ints(shape), allowzero=1 if 0 in shape else None)
        if value.dtype is not None:
            result.dtype = value.dtype
        result.shape = ir.Shape(shape)
        return result


def _set_types(node: ir.Node) -> None:
    """Element types of the results; the exporter gives a captured operation's own results their shapes too."""
    for index, value in enumerate(node.outputs):
        value.dtype = _result_type(node, index)


def _result_type(node: ir.Node, index: int) -> ir.DataType | None:
    if node.op_type in _BOOLEAN:
        return ir.DataType.BOOL
    if (node.op_type, index) in _POSITIONS:
        return ir.DataType.INT64
    if node.op_type == "Cast":
        return ir.DataType(node.attributes["to"].as_int())
    source = node.inputs[1 if node.op_type == "Where" else 0]
    return None if source is None else source.dtype


def out_type(node: Any, index: int = 0) -> ir.DataType:
    """Element type of a captured node's result."""
    return ONNX_TYPES[node.results[index].dtype]


def out_shape(node: Any, index: int = 0) -> tuple[int, ...]:
    """Shape of a captured node's result."""
    return tuple(node.results[index].shape)


def shape_of(value: ir.Value) -> tuple[int, ...]:
    """Static shape of a captured value."""
    return tuple(int(n) for n in value.shape)


def axis_of(dim: int, rank: int) -> int:
    """A dimension number as non-negative axis; rank 0 counts as rank 1."""
    return dim % max(rank, 1)


def _numpy_type(dtype: ir.DataType) -> Any:
    return ml_dtypes.bfloat16 if dtype == ir.DataType.BFLOAT16 else dtype.numpy()


def _constant_name(array: Any, dtype: ir.DataType) -> str:
    kind = dtype.name.lower()
    if array.ndim == 0 and math.isfinite(float(array)):
        return f"{kind}_{array.item():.6g}".replace("-", "m").replace("+", "")
    if array.ndim == 1 and array.size <= 6 and dtype == ir.DataType.INT64:
        return "ints_" + "_".join(str(n).replace("-", "m") for n in array.tolist())
    return f"{kind}_{'x'.join(map(str, array.shape)) or 'scalar'}"
