"""Operators that only rename, copy or join elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.builder import Builder, axis_of, out_shape, out_type, shape_of
from pfcomp.frontend.lower.table import lowers

_RESHAPES = (
    *("view.default", "_unsafe_view.default", "reshape.default", "squeeze.default", "squeeze.dim", "squeeze.dims"),
    *("unsqueeze.default", "view_copy.default", "_reshape_alias.default", "prims.collapse_view.default"),
)
_END = 2**62


@lowers(*_RESHAPES)
def _reshape(b: Builder, node: Any, x: Any, *_: Any) -> Any:
    return b.reshape(x, out_shape(node))


@lowers("expand.default")
def _expand(b: Builder, node: Any, x: Any, size: Any, implicit: bool = False) -> Any:
    shape = out_shape(node)
    return x if shape_of(x) == shape else b.op("Expand", x, b.ints(shape))


@lowers("permute.default", "t.default", "transpose.int")
def _permute(b: Builder, node: Any, x: Any, *dims: Any) -> Any:
    rank = len(shape_of(x))
    if not dims:
        order = list(range(rank))[::-1]
    elif isinstance(dims[0], tuple):
        order = [axis_of(d, rank) for d in dims[0]]
    else:
        order = list(range(rank))
        first, second = (axis_of(d, rank) for d in dims)
        if rank:
            order[first], order[second] = order[second], order[first]
    return x if order == list(range(rank)) else b.op("Transpose", x, perm=order)


def slice_axis(b: Builder, x: Any, axis: int, start: int, end: int, step: int = 1) -> Any:
    """Elements start, start + step, ... below `end` of one axis (all non-negative)."""
    shape = shape_of(x)
    if start == 0 and end >= shape[axis] and step == 1:
        return x
    result = b.op("Slice", x, b.ints([start]), b.ints([end]), b.ints([axis]), b.ints([step]))
    count = max(0, -(-(min(end, shape[axis]) - start) // step))
    result.dtype, result.shape = x.dtype, ir.Shape([*shape[:axis], count, *shape[axis + 1 :]])
    return result


def slice_bounds(size: int, start: int | None, end: int | None) -> tuple[int, int]:
    """torch's slice arguments as bounds with 0 <= start <= end <= size."""
    first, last, _ = slice(start, end).indices(size)
    return first, max(first, last)


@lowers("slice.Tensor")
def _slice(b: Builder, node: Any, x: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1) -> Any:
    axis = axis_of(dim, len(shape_of(x)))
    first, last = slice_bounds(shape_of(x)[axis], start, end)
    return slice_axis(b, x, axis, first, last, step)


@lowers("select.int")
def _select(b: Builder, node: Any, x: Any, dim: int, index: int) -> Any:
    axis = axis_of(dim, len(shape_of(x)))
    index %= shape_of(x)[axis]
    return b.reshape(slice_axis(b, x, axis, index, index + 1), out_shape(node))


@lowers("split.Tensor", "split_with_sizes.default", "unsafe_split.Tensor", "unsafe_split_with_sizes.default")
def _split(b: Builder, node: Any, x: Any, sizes: Any, dim: int = 0) -> Any:
    axis = axis_of(dim, len(shape_of(x)))
    lengths = [spec.shape[axis] for spec in node.results]
    if len(lengths) == 1:
        return [x]
    return b.op("Split", x, b.ints(lengths), axis=axis, outputs=len(lengths))


@lowers("unbind.int")
def _unbind(b: Builder, node: Any, x: Any, dim: int = 0) -> Any:
    axis = axis_of(dim, len(shape_of(x)))
    count = len(node.results)
    shape = out_shape(node)
    if count == 1:
        return [b.reshape(x, shape)]
    parts = b.op("Split", x, b.ints([1] * count), axis=axis, outputs=count)
    return [b.reshape(part, shape) for part in parts]


@lowers("cat.default")
def _cat(b: Builder, node: Any, tensors: Any, dim: int = 0) -> Any:
    rank = len(out_shape(node))
    # torch ignores empty rank 1 tensors whatever the rank of the others
    used = [t for t in tensors if not (shape_of(t) == (0,) and rank != 1)]
    values = [b.as_type(t, out_type(node)) for t in used]
    return values[0] if len(values) == 1 else b.op("Concat", *values, axis=axis_of(dim, rank))


@lowers("stack.default")
def _stack(b: Builder, node: Any, tensors: Any, dim: int = 0) -> Any:
    shape = out_shape(node)
    axis = dim % len(shape)
    unit = [*shape[:axis], 1, *shape[axis + 1 :]]
    values = [b.reshape(b.as_type(t, out_type(node)), unit) for t in tensors]
    return values[0] if len(values) == 1 else b.op("Concat", *values, axis=axis)


@lowers("constant_pad_nd.default")
def _pad(b: Builder, node: Any, x: Any, pad: Any, value: Any = 0) -> Any:
    rank = len(shape_of(x))
    begins, ends = [0] * rank, [0] * rank
    for number, (low, high) in enumerate(zip(pad[::2], pad[1::2], strict=True)):
        begins[rank - 1 - number], ends[rank - 1 - number] = low, high
    return b.op("Pad", x, b.ints([*begins, *ends]), b.constant(value, out_type(node)), mode="constant")


@lowers("reflection_pad1d.default", "reflection_pad2d.default", "reflection_pad3d.default")
def _reflection_pad(b: Builder, node: Any, x: Any, pad: Any) -> Any:
    return _pad_mode(b, x, pad, "reflect")


@lowers("replication_pad1d.default", "replication_pad2d.default", "replication_pad3d.default")
def _replication_pad(b: Builder, node: Any, x: Any, pad: Any) -> Any:
    return _pad_mode(b, x, pad, "edge")


def _pad_mode(b: Builder, x: Any, pad: Any, mode: str) -> Any:
    rank = len(shape_of(x))
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    begins = [0] * (rank - len(pairs)) + [low for low, _ in pairs]
    ends = [0] * (rank - len(pairs)) + [high for _, high in pairs]
    return b.op("Pad", x, b.ints([*begins, *ends]), mode=mode)


@lowers("repeat.default")
def _repeat(b: Builder, node: Any, x: Any, repeats: Any) -> Any:
    rank = len(repeats)
    value = b.reshape(x, (*([1] * (rank - len(shape_of(x)))), *shape_of(x)))
    return value if all(n == 1 for n in repeats) else b.op("Tile", value, b.ints(repeats))


@lowers("flip.default")
def _flip(b: Builder, node: Any, x: Any, dims: Any) -> Any:
    axes = [axis_of(d, len(shape_of(x))) for d in dims]
    if not axes:
        return x
    count = len(axes)
    return b.op("Slice", x, b.ints([-1] * count), b.ints([-_END] * count), b.ints(axes), b.ints([-1] * count))


@lowers("roll.default")
def _roll(b: Builder, node: Any, x: Any, shifts: Any, dims: Any = ()) -> Any:
    shape = shape_of(x)
    if not dims:
        flat = b.reshape(x, (int(np.prod(shape)),))
        return b.reshape(_rolled(b, flat, shifts[0], 0), shape)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(b, x, shift, axis_of(dim, len(shape)))
    return x


def _rolled(b: Builder, x: Any, shift: int, axis: int) -> Any:
    shape = shape_of(x)
    if shape[axis] == 0 or shift % shape[axis] == 0:
        return x
    cut = shape[axis] - shift % shape[axis]
    parts = [slice_axis(b, x, axis, cut, shape[axis]), slice_axis(b, x, axis, 0, cut)]
    result = b.op("Concat", *parts, axis=axis)
    result.dtype, result.shape = x.dtype, x.shape
    return result


@lowers("slice_scatter.default")
def _slice_scatter(
    b: Builder, node: Any, x: Any, source: Any, dim: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Any:
    axis = axis_of(dim, len(shape_of(x)))
    first, last = slice_bounds(shape_of(x)[axis], start, end)
    source = b.as_type(source, out_type(node))
    if step == 1:
        return replaced(b, x, source, axis, first, last)
    return _strided_replacement(b, x, source, axis, range(first, last, step))


@lowers("select_scatter.default")
def _select_scatter(b: Builder, node: Any, x: Any, source: Any, dim: int, index: int) -> Any:
    shape = shape_of(x)
    axis = axis_of(dim, len(shape))
    index %= shape[axis]
    part = b.reshape(b.as_type(source, out_type(node)), (*shape[:axis], 1, *shape[axis + 1 :]))
    return replaced(b, x, part, axis, index, index + 1)


def replaced(b: Builder, x: Any, part: Any, axis: int, start: int, end: int) -> Any:
    """`x` with the elements start to end of an axis replaced: the pieces around it are joined with `part`."""
    size = shape_of(x)[axis]
    if start == 0 and end >= size:
        return part
    pieces = [slice_axis(b, x, axis, 0, start)] if start > 0 else []
    pieces.append(part)
    if end < size:
        pieces.append(slice_axis(b, x, axis, end, size))
    return b.op("Concat", *pieces, axis=axis)


def _strided_replacement(b: Builder, x: Any, source: Any, axis: int, positions: range) -> Any:
    """Positions with a step: scatter along the axis with constant indices."""
    shape = shape_of(x)
    index_shape = [1] * len(shape)
    index_shape[axis] = len(positions)
    index = np.broadcast_to(
        np.asarray(positions, dtype=np.int64).reshape(index_shape), [*shape[:axis], len(positions), *shape[axis + 1 :]]
    )
    return b.op("ScatterElements", x, b.constant(index, ir.DataType.INT64), source, axis=axis)


@lowers("as_strided.default")
def _as_strided(b: Builder, node: Any, x: Any, size: Any, stride: Any, storage_offset: Any = 0) -> Any:
    """A dense tensor read through other strides: a gather of the flattened elements with constant indices."""
    count = int(np.prod(shape_of(x), dtype=np.int64))
    flat = b.reshape(x, (count,))
    index = strided_index(size, stride, storage_offset or 0)
    if index.size and np.array_equal(index.reshape(-1), np.arange(index.size) + index.flat[0]):
        start = int(index.flat[0])
        return b.reshape(slice_axis(b, flat, 0, start, start + index.size), out_shape(node))
    return b.op("Gather", flat, b.constant(index, ir.DataType.INT64), axis=0)


def strided_index(size: Any, stride: Any, offset: int) -> Any:
    """Positions in memory of every element, as an int64 array of shape `size`."""
    index = np.full((), offset, dtype=np.int64)
    for length, step in zip(size, stride, strict=True):
        index = index[..., None] + np.arange(length, dtype=np.int64) * step
    return index


@lowers("unfold.default")
def _unfold(b: Builder, node: Any, x: Any, dimension: int, size: int, step: int) -> Any:
    shape = shape_of(x)
    rank = len(shape)
    axis = axis_of(dimension, rank)
    count = (shape[axis] - size) // step + 1
    index = np.arange(count)[:, None] * step + np.arange(size)[None, :]
    windows = b.op("Gather", x, b.constant(index, ir.DataType.INT64), axis=axis)
    order = [*range(axis + 1), *range(axis + 2, rank + 1), axis + 1]
    return windows if order == list(range(rank + 1)) else b.op("Transpose", windows, perm=order)


@lowers("diagonal.default")
def _diagonal(b: Builder, node: Any, x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    shape = shape_of(x)
    first, second = axis_of(dim1, len(shape)), axis_of(dim2, len(shape))
    rest = [axis for axis in range(len(shape)) if axis not in (first, second)]
    order = [*rest, first, second]
    value = x if order == list(range(len(shape))) else b.op("Transpose", x, perm=order)
    value.dtype = x.dtype
    flat = b.reshape(value, (*(shape[axis] for axis in rest), shape[first] * shape[second]))
    length = out_shape(node)[-1]
    start = offset if offset >= 0 else -offset * shape[second]
    index = np.arange(length) * (shape[second] + 1) + start
    return b.op("Gather", flat, b.constant(index, ir.DataType.INT64), axis=len(rest))


@lowers("tril.default", "triu.default")
def _triangle(b: Builder, node: Any, x: Any, diagonal: int = 0) -> Any:
    return b.op("Trilu", x, b.constant(diagonal, ir.DataType.INT64), upper=int("triu" in node.op))
