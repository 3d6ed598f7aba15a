"""torch dtype names as ONNX element types, and torch's promotion rule."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

ONNX_TYPES: dict[str, ir.DataType] = {
    "float16": ir.DataType.FLOAT16,
    "bfloat16": ir.DataType.BFLOAT16,
    "float32": ir.DataType.FLOAT,
    "float64": ir.DataType.DOUBLE,
    "bool": ir.DataType.BOOL,
    "int8": ir.DataType.INT8,
    "int16": ir.DataType.INT16,
    "int32": ir.DataType.INT32,
    "int64": ir.DataType.INT64,
    "uint8": ir.DataType.UINT8,
}
TORCH_NAMES: dict[ir.DataType, str] = {value: key for key, value in ONNX_TYPES.items()}
FLOATING = frozenset({ir.DataType.FLOAT16, ir.DataType.BFLOAT16, ir.DataType.FLOAT, ir.DataType.DOUBLE})


def torch_dtype(dtype: ir.DataType) -> torch.dtype:
    """The torch dtype of an ONNX element type."""
    found: torch.dtype = getattr(torch, TORCH_NAMES[dtype])
    return found


def promoted(first: Any, second: Any) -> ir.DataType:
    """Element type in which torch computes with two operands, each a value of known shape or a Python number."""
    result = torch.result_type(_example(first), _example(second))
    return ONNX_TYPES[str(result).removeprefix("torch.")]


def _example(operand: Any) -> Any:
    if isinstance(operand, ir.Value):
        rank = len(operand.shape) if operand.shape is not None else 1
        dtype = ir.DataType.FLOAT if operand.dtype is None else operand.dtype
        return torch.empty((1,) * rank, dtype=torch_dtype(dtype), device="meta")
    return operand
