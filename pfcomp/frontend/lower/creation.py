"""Tensors made from numbers: filled ones are an Expand of a scalar, ranges are constants."""

from __future__ import annotations

from typing import Any

import numpy as np

from pfcomp.frontend.lower.builder import Builder, out_shape, out_type
from pfcomp.frontend.lower.table import lowers


def filled(b: Builder, node: Any, number: Any) -> Any:
    """The number in the shape and type of the node's result."""
    scalar = b.as_type(number, out_type(node))
    shape = out_shape(node)
    return scalar if shape == () else b.op("Expand", scalar, b.ints(shape))


@lowers("full.default", "full_like.default", "fill.Scalar", "fill.Tensor")
def _full(b: Builder, node: Any, like: Any, number: Any, **_: Any) -> Any:
    return filled(b, node, number)


@lowers("new_full.default")
def _new_full(b: Builder, node: Any, like: Any, size: Any, number: Any, **_: Any) -> Any:
    return filled(b, node, number)


@lowers("ones.default", "ones_like.default", "new_ones.default")
def _ones(b: Builder, node: Any, *_: Any, **__: Any) -> Any:
    return filled(b, node, 1)


_ZEROS = (
    *("zeros.default", "zeros_like.default", "new_zeros.default", "empty.memory_format", "empty_like.default"),
    *("new_empty.default", "new_empty_strided.default", "empty_strided.default", "empty_permuted.default"),
)


@lowers(*_ZEROS)
def _zeros(b: Builder, node: Any, *_: Any, **__: Any) -> Any:
    # memory that is said to be uninitialised is zero, so that results are reproducible
    return filled(b, node, 0)


@lowers("scalar_tensor.default")
def _scalar(b: Builder, node: Any, number: Any, **_: Any) -> Any:
    return filled(b, node, number)


@lowers("arange.default", "arange.start", "arange.start_step", "prims.iota.default")
def _arange(b: Builder, node: Any, *bounds: Any, **kwargs: Any) -> Any:
    count = out_shape(node)[0]
    if node.op == "prims.iota.default":
        start, step = kwargs.get("start", 0), kwargs.get("step", 1)
    else:
        start = bounds[0] if len(bounds) > 1 else 0
        step = bounds[2] if len(bounds) > 2 else 1
    whole = all(isinstance(number, int) for number in (start, step))
    steps = np.arange(count, dtype=np.int64 if whole else np.float64)
    return b.constant(start + step * steps, out_type(node))


@lowers("linspace.default")
def _linspace(b: Builder, node: Any, start: Any, end: Any, steps: int, **_: Any) -> Any:
    return b.constant(np.linspace(start, end, steps), out_type(node))


@lowers("eye.default", "eye.m")
def _eye(b: Builder, node: Any, *_: Any, **__: Any) -> Any:
    return b.constant(np.eye(out_shape(node)[0], out_shape(node)[1]), out_type(node))
