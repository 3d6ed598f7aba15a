"""Reductions, arg-reductions, sorting and scans."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.builder import Builder, axis_of, out_shape, out_type, shape_of
from pfcomp.frontend.lower.elementwise import truth
from pfcomp.frontend.lower.table import lowers


def _axes(x: Any, dim: Any) -> list[int]:
    """Axes of a torch `dim` argument: None or an empty list means all."""
    rank = len(shape_of(x))
    dims = (dim,) if isinstance(dim, int) else dim
    return list(range(rank)) if not dims else sorted({axis_of(d, rank) for d in dims})


def reduce(b: Builder, kind: str, value: Any, axes: list[int], shape: tuple[int, ...], rank: int) -> Any:
    """One ONNX reduction to `shape`; the value itself where there is nothing to reduce."""
    if rank == 0:
        return value
    keep = int(len(shape) == rank)
    result = b.op(kind, value, b.ints(axes), keepdims=keep)
    if value.dtype is not None:
        result.dtype = value.dtype
    result.shape = ir.Shape(shape)
    return result


def _reduction(b: Builder, node: Any, kind: str, x: Any, dim: Any) -> Any:
    value = b.as_type(x, out_type(node))
    return reduce(b, kind, value, _axes(x, dim), out_shape(node), len(shape_of(x)))


@lowers("sum.default", "sum.dim_IntList")
def _sum(b: Builder, node: Any, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return _reduction(b, node, "ReduceSum", x, dim)


@lowers("mean.default", "mean.dim")
def _mean(b: Builder, node: Any, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return _reduction(b, node, "ReduceMean", x, dim)


@lowers("prod.default", "prod.dim_int")
def _prod(b: Builder, node: Any, x: Any, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Any:
    return _reduction(b, node, "ReduceProd", x, dim)


@lowers("prims.prod.default", "prims.sum.default")
def _prims(b: Builder, node: Any, x: Any, dims: Any = None, output_dtype: Any = None) -> Any:
    return _reduction(b, node, "ReduceProd" if "prod" in node.op else "ReduceSum", x, dims)


@lowers("amax.default", "amin.default", "max.default", "min.default")
def _extreme(b: Builder, node: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    kind = "ReduceMax" if "max" in node.op else "ReduceMin"
    if out_type(node) == ir.DataType.BOOL:
        number = b.as_type(x, ir.DataType.INT32)
        return truth(b, reduce(b, kind, number, _axes(x, dim), out_shape(node), len(shape_of(x))))
    return _reduction(b, node, kind, x, dim)


@lowers("any.default", "any.dim", "any.dims", "all.default", "all.dim", "all.dims")
def _any_all(b: Builder, node: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    kind = "ReduceMax" if "any" in node.op else "ReduceMin"
    number = b.as_type(truth(b, x), ir.DataType.INT32)
    return b.as_type(reduce(b, kind, number, _axes(x, dim), out_shape(node), len(shape_of(x))), out_type(node))


@lowers("max.dim", "min.dim")
def _extreme_with_index(b: Builder, node: Any, x: Any, dim: int, keepdim: bool = False) -> Any:
    upper = "max" in node.op
    shape, rank = out_shape(node), len(shape_of(x))
    if rank == 0:
        return [x, b.constant(0, ir.DataType.INT64)]
    axis = axis_of(dim, rank)
    number = b.as_type(x, ir.DataType.INT32) if x.dtype == ir.DataType.BOOL else x
    value = reduce(b, "ReduceMax" if upper else "ReduceMin", number, [axis], shape, rank)
    index = b.op("ArgMax" if upper else "ArgMin", number, axis=axis, keepdims=int(len(shape) == rank))
    return [b.as_type(value, out_type(node)), index]


@lowers("argmax.default", "argmin.default")
def _arg_extreme(b: Builder, node: Any, x: Any, dim: int | None = None, keepdim: bool = False) -> Any:
    kind, rank = ("ArgMax" if "argmax" in node.op else "ArgMin"), len(shape_of(x))
    if dim is None or rank == 0:
        flat = b.reshape(x, (int(np.prod(shape_of(x))),))
        return b.reshape(b.op(kind, flat, axis=0, keepdims=1), out_shape(node))
    return b.op(kind, x, axis=axis_of(dim, rank), keepdims=int(keepdim))


@lowers("topk.default")
def _topk(b: Builder, node: Any, x: Any, k: int, dim: int = -1, largest: bool = True, is_sorted: bool = True) -> Any:
    axis = axis_of(dim, len(shape_of(x)))
    return b.op("TopK", x, b.ints([k]), axis=axis, largest=int(largest), sorted=int(is_sorted), outputs=2)


@lowers("sort.default", "sort.stable")
def _sort(b: Builder, node: Any, x: Any, dim: int = -1, descending: bool = False, stable: Any = None) -> Any:
    shape = shape_of(x)
    if not shape:
        return [x, b.constant(0, ir.DataType.INT64)]
    axis = axis_of(dim, len(shape))
    return b.op("TopK", x, b.ints([shape[axis]]), axis=axis, largest=int(descending), sorted=1, outputs=2)


@lowers("cumsum.default")
def _cumsum(b: Builder, node: Any, x: Any, dim: int, dtype: Any = None) -> Any:
    value = b.as_type(x, out_type(node))
    axis = axis_of(dim, len(shape_of(x)))
    return b.op("CumSum", value, b.constant(axis, ir.DataType.INT32)) if shape_of(x) else value


@lowers("linalg_vector_norm.default")
def _vector_norm(b: Builder, node: Any, x: Any, order: Any = 2, dim: Any = None, keepdim: Any = False, **_: Any) -> Any:
    value, axes = b.as_type(x, out_type(node)), _axes(x, dim)
    shape, rank = out_shape(node), len(shape_of(x))
    magnitude = b.op("Abs", value)
    magnitude.dtype = value.dtype
    if order in (float("inf"), float("-inf")):
        return reduce(b, "ReduceMax" if order > 0 else "ReduceMin", magnitude, axes, shape, rank)
    if order == 1:
        return reduce(b, "ReduceSum", magnitude, axes, shape, rank)
    if order == 2:
        return b.op("Sqrt", reduce(b, "ReduceSum", b.op("Mul", value, value), axes, shape, rank))
    if order == 0:
        ones = b.as_type(truth(b, value), out_type(node))
        return reduce(b, "ReduceSum", ones, axes, shape, rank)
    powers = b.op("Pow", magnitude, b.constant(order, out_type(node)))
    return b.op("Pow", reduce(b, "ReduceSum", powers, axes, shape, rank), b.constant(1 / order, out_type(node)))


@lowers("var_mean.correction", "var.correction", "std.correction")
def _variance(b: Builder, node: Any, x: Any, dim: Any = None, correction: Any = 1, keepdim: bool = False) -> Any:
    """Two-pass variance: mean, then the mean of squared distances, corrected."""
    axes, shape = _axes(x, dim), shape_of(x)
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    dtype = out_type(node)
    count = int(np.prod([shape[axis] for axis in axes]))
    mean = reduce(b, "ReduceMean", x, axes, kept, len(shape))
    distance = b.op("Sub", x, mean)
    total = reduce(b, "ReduceSum", b.op("Mul", distance, distance), axes, out_shape(node), len(shape))
    divisor = count - (1 if correction is None else correction)
    variance = b.op("Div", total, b.constant(max(divisor, 0), dtype))
    if "var_mean" in node.op:
        return [variance, b.reshape(mean, out_shape(node))]
    return b.op("Sqrt", variance) if "std" in node.op else variance


@lowers("logsumexp.default")
def _logsumexp(b: Builder, node: Any, x: Any, dim: Any, keepdim: bool = False) -> Any:
    return _reduction(b, node, "ReduceLogSumExp", x, dim)
