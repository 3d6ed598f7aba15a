"""Normalisations at inference; those of training are decomposed before (decompositions)."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.builder import Builder, out_shape, out_type, shape_of
from pfcomp.frontend.lower.reductions import reduce
from pfcomp.frontend.lower.table import lowers


@lowers("native_layer_norm.default")
def _layer_norm(b: Builder, node: Any, x: Any, normalized: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Mean and reciprocal deviation are results of their own, which the backward pass reads."""
    shape, dtype = shape_of(x), out_type(node)
    rank = len(shape)
    axes = list(range(rank - len(normalized), rank))
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    mean = reduce(b, "ReduceMean", x, axes, kept, rank)
    distance = b.op("Sub", x, mean)
    variance = reduce(b, "ReduceMean", b.op("Mul", distance, distance), axes, kept, rank)
    rstd = b.op("Reciprocal", b.op("Sqrt", b.op("Add", variance, b.constant(eps, dtype))))
    rstd.dtype, rstd.shape = dtype, ir.Shape(kept)
    value = b.op("Mul", distance, rstd)
    if weight is not None:
        value = b.op("Mul", value, weight)
    if bias is not None:
        value = b.op("Add", value, bias)
    return [value, mean, rstd]


@lowers("native_group_norm.default")
def _group_norm(
    b: Builder, node: Any, x: Any, weight: Any, bias: Any, n: int, c: int, hw: int, group: int, eps: float
) -> Any:
    shape, dtype = shape_of(x), out_type(node)
    folded = b.reshape(x, (n, group, c // group * hw))
    mean = reduce(b, "ReduceMean", folded, [2], (n, group, 1), 3)
    distance = b.op("Sub", folded, mean)
    variance = reduce(b, "ReduceMean", b.op("Mul", distance, distance), [2], (n, group, 1), 3)
    rstd = b.op("Reciprocal", b.op("Sqrt", b.op("Add", variance, b.constant(eps, dtype))))
    rstd.dtype, rstd.shape = dtype, ir.Shape((n, group, 1))
    value = b.op("Mul", distance, rstd)
    value.dtype = dtype
    value = b.reshape(value, shape)
    per_channel = (1, c, *([1] * (len(shape) - 2)))
    if weight is not None:
        value = b.op("Mul", value, b.reshape(weight, per_channel))
    if bias is not None:
        value = b.op("Add", value, b.reshape(bias, per_channel))
    return [value, b.reshape(mean, out_shape(node, 1)), b.reshape(rstd, out_shape(node, 2))]


@lowers("_native_batch_norm_legit_no_training.default")
def _batch_norm(
    b: Builder, node: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, momentum: float, eps: float
) -> Any:
    channels = shape_of(x)[1]
    dtype = out_type(node)
    scale = weight if weight is not None else b.constant(np.ones(channels), dtype)
    shift = bias if bias is not None else b.constant(np.zeros(channels), dtype)
    value = b.op("BatchNormalization", x, scale, shift, mean, var, epsilon=float(eps))
    empty = b.constant(np.zeros(0), dtype)
    return [value, empty, empty]
