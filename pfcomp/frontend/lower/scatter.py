"""Writing elements at positions that are values; every result is a new tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.builder import Builder, axis_of, out_type, shape_of
from pfcomp.frontend.lower.indexing import index_tuples
from pfcomp.frontend.lower.table import lowers
from pfcomp.frontend.lower.views import strided_index

_REDUCTIONS = {"sum": "add", "prod": "mul", "amax": "max", "amin": "min", "add": "add", "multiply": "mul"}


@lowers("scatter.src", "scatter_add.default", "scatter.reduce", "scatter_reduce.two")
def _scatter(b: Builder, node: Any, x: Any, dim: int, index: Any, source: Any, reduce: Any = None, **kw: Any) -> Any:
    kind = "add" if "scatter_add" in node.op else _REDUCTIONS.get(str(reduce), "none")
    rank = len(shape_of(x))
    if rank == 0:
        return b.as_type(source, out_type(node)) if kind == "none" else b.op("Add", x, source)
    # torch uses the first elements of a source that is larger than the index
    for axis, (have, want) in enumerate(zip(shape_of(source), shape_of(index), strict=True)):
        if have != want:
            source = b.op("Slice", source, b.ints([0]), b.ints([want]), b.ints([axis]), b.ints([1]))
            source.dtype = x.dtype
    return b.op("ScatterElements", x, index, source, axis=axis_of(dim, rank), reduction=kind)


@lowers("diagonal_scatter.default")
def _diagonal_scatter(b: Builder, node: Any, x: Any, source: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    positions = np.arange(int(np.prod(shape_of(x)))).reshape(shape_of(x))
    return _scatter_flat(b, node, x, source, positions.diagonal(offset, dim1, dim2))


@lowers("as_strided_scatter.default", "prims.as_strided_scatter.default")
def _as_strided_scatter(b: Builder, node: Any, x: Any, source: Any, size: Any, stride: Any, offset: Any = 0) -> Any:
    return _scatter_flat(b, node, x, source, strided_index(size, stride, offset or 0))


def _scatter_flat(b: Builder, node: Any, x: Any, source: Any, positions: Any) -> Any:
    """Elements of the dense tensor `x` at constant positions replaced by `source`."""
    flat = b.reshape(x, (int(np.prod(shape_of(x))),))
    index = b.constant(np.ascontiguousarray(positions).reshape(-1), ir.DataType.INT64)
    updates = b.reshape(b.as_type(source, out_type(node)), (positions.size,))
    result = b.op("ScatterElements", flat, index, updates, axis=0)
    result.dtype = out_type(node)
    return b.reshape(result, shape_of(x))


@lowers("scatter.value")
def _scatter_value(b: Builder, node: Any, x: Any, dim: int, index: Any, value: Any) -> Any:
    dtype = out_type(node)
    rank = len(shape_of(x))
    source = b.op("Expand", b.constant(value, dtype), b.ints(shape_of(index))) if rank else b.constant(value, dtype)
    return b.op("ScatterElements", x, index, source, axis=axis_of(dim, rank)) if rank else source


@lowers("index_put.default", "_unsafe_index_put.default")
def _index_put(b: Builder, node: Any, x: Any, indices: Any, values: Any, accumulate: bool = False, *_: Any) -> Any:
    rank = len(shape_of(x))
    used = [axis for axis, index in enumerate(indices) if index is not None]
    rest = [axis for axis in range(rank) if axis not in used]
    order = [*used, *rest]
    moved = order != list(range(rank))
    target = b.op("Transpose", x, perm=order) if moved else x
    tuples = index_tuples(b, x, [indices[axis] for axis in used], used)[0]
    index_shape = np.broadcast_shapes(*(shape_of(indices[axis]) for axis in used))
    source = _updates(b, node, values, index_shape, [shape_of(x)[axis] for axis in rest], used)
    result = b.op("ScatterND", target, tuples, source, reduction="add" if accumulate else "none")
    return b.op("Transpose", result, perm=np.argsort(order).tolist()) if moved else result


def _updates(b: Builder, node: Any, values: Any, index_shape: Any, rest: list[int], used: list[int]) -> Any:
    """The values in the shape (index's axes, other axes) that ScatterND wants."""
    value = b.as_type(values, out_type(node))
    count = len(index_shape)
    neighbours = used == list(range(used[0], used[-1] + 1))
    first = used[0] if neighbours else 0
    natural = [*rest[:first], *index_shape, *rest[first:]]
    if list(shape_of(values)) != natural:
        value = b.op("Expand", value, b.ints(natural))
    order = [*range(first, first + count), *range(first), *range(first + count, len(natural))]
    return value if order == list(range(len(natural))) else b.op("Transpose", value, perm=order)


@lowers("index_copy.default", "index_add.default")
def _index_copy(b: Builder, node: Any, x: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    source_shape = shape_of(source)
    if alpha != 1:
        source = b.op("Mul", source, b.constant(alpha, out_type(node)))
    column = [1] * len(shape)
    column[axis] = source_shape[axis]
    spread = b.op("Expand", b.reshape(b.as_type(index, ir.DataType.INT64), column), b.ints(source_shape))
    kind = "add" if "index_add" in node.op else "none"
    return b.op("ScatterElements", x, spread, source, axis=axis, reduction=kind)


@lowers("index_fill.int_Scalar")
def _index_fill(b: Builder, node: Any, x: Any, dim: int, index: Any, value: Any) -> Any:
    shape = list(shape_of(x))
    axis = axis_of(dim, len(shape))
    shape[axis] = int(np.prod(shape_of(index)))
    source = b.op("Expand", b.constant(value, out_type(node)), b.ints(shape))
    source.shape = ir.Shape(shape)
    return _index_copy(b, node, x, dim, index, source)
