"""Reading elements at positions that are values."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.builder import Builder, axis_of, out_shape, out_type, shape_of
from pfcomp.frontend.lower.table import lowers


@lowers("index_select.default")
def _index_select(b: Builder, node: Any, x: Any, dim: int, index: Any) -> Any:
    rank = len(shape_of(x))
    if rank == 0:
        return x
    return b.op("Gather", x, b.reshape(index, out_index_shape(index)), axis=axis_of(dim, rank))


def out_index_shape(index: Any) -> tuple[int, ...]:
    """Shape of an index list; torch takes a scalar for a list of one."""
    return shape_of(index) or (1,)


@lowers("embedding.default")
def _embedding(b: Builder, node: Any, weight: Any, indices: Any, *_: Any) -> Any:
    return b.op("Gather", weight, indices, axis=0)


@lowers("gather.default")
def _gather(b: Builder, node: Any, x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    rank = len(shape_of(x))
    if rank == 0:
        return b.reshape(x, out_shape(node))
    return b.op("GatherElements", x, index, axis=axis_of(dim, rank))


@lowers("index.Tensor", "_unsafe_index.Tensor")
def _index(b: Builder, node: Any, x: Any, indices: Any) -> Any:
    used = [axis for axis, index in enumerate(indices) if index is not None]
    if len(used) == 1:
        return b.op("Gather", x, b.as_type(indices[used[0]], ir.DataType.INT64), axis=used[0])
    rank = len(shape_of(x))
    rest = [axis for axis in range(rank) if axis not in used]
    order = [*used, *rest]
    value = x if order == list(range(rank)) else b.op("Transpose", x, perm=order)
    tuples, index_rank = index_tuples(b, x, [indices[axis] for axis in used], used)
    result = b.op("GatherND", value, tuples)
    result.dtype = out_type(node)
    # torch puts the index's axes where the first indexed axis was if the indexed ones are neighbours, else first
    if used == list(range(used[0], used[-1] + 1)) and used[0] > 0:
        front = list(range(index_rank, index_rank + used[0]))
        back = list(range(index_rank + used[0], index_rank + len(rest)))
        result = b.op("Transpose", result, perm=[*front, *range(index_rank), *back])
    return result


def index_tuples(b: Builder, x: Any, indices: list[Any], axes: list[int]) -> tuple[Any, int]:
    """Broadcast index tensors joined as the last axis of one int64 tensor, and the rank without that axis.

    Negative positions are counted from the end by ONNX as by torch.
    """
    shape = np.broadcast_shapes(*(shape_of(index) for index in indices))
    columns = []
    for index in indices:
        value = b.as_type(index, ir.DataType.INT64)
        if shape_of(index) != shape:
            value = b.op("Expand", value, b.ints(shape))
            value.dtype, value.shape = ir.DataType.INT64, ir.Shape(shape)
        columns.append(b.reshape(value, (*shape, 1)))
    joined = columns[0] if len(columns) == 1 else b.op("Concat", *columns, axis=len(shape))
    return joined, len(shape)
