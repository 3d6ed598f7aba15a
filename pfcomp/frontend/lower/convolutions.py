"""Convolutions and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.builder import Builder, out_shape, shape_of
from pfcomp.frontend.lower.table import lowers


def _repeated(values: Any, count: int) -> list[int]:
    """A torch size argument for `count` dimensions: one number stands for all."""
    items = [values] if isinstance(values, int) else list(values)
    return items * count if len(items) == 1 else items


@lowers("convolution.default")
def _convolution(
    b: Builder,
    node: Any,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    count = len(shape_of(weight)) - 2
    batched = len(shape_of(x)) == count + 2
    value = x if batched else b.reshape(x, (1, *shape_of(x)))
    edges = _repeated(padding, count)
    shared: dict[str, Any] = {
        "strides": _repeated(stride, count),
        "pads": [*edges, *edges],
        "dilations": _repeated(dilation, count),
        "group": groups,
        "kernel_shape": list(shape_of(weight)[2:]),
    }
    extra: dict[str, Any] = {"output_padding": _repeated(output_padding, count)} if transposed else {}
    inputs = [value, weight] if bias is None else [value, weight, bias]
    result = b.op("ConvTranspose" if transposed else "Conv", *inputs, **shared, **extra)
    result.dtype = x.dtype
    return result if batched else b.reshape(result, out_shape(node))


def _pool_attributes(x: Any, count: int, kernel: Any, stride: Any, padding: Any, ceil: bool) -> dict[str, Any]:
    sizes = _repeated(kernel, count)
    edges = _repeated(padding, count)
    return {
        "kernel_shape": sizes,
        "strides": _repeated(stride, count) if stride else sizes,
        "pads": [*edges, *edges],
        "ceil_mode": int(ceil),
    }


def _batched(b: Builder, x: Any, count: int) -> Any:
    shape = shape_of(x)
    return x if len(shape) == count + 2 else b.reshape(x, (1, *shape))


@lowers("max_pool2d_with_indices.default", "max_pool3d_with_indices.default")
def _max_pool(
    b: Builder,
    node: Any,
    x: Any,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> Any:
    """ONNX counts indices over the whole tensor, torch inside a channel: the remainder converts."""
    count = 2 if "2d" in node.op else 3
    attributes = _pool_attributes(x, count, kernel, stride, padding, ceil_mode)
    attributes["dilations"] = _repeated(dilation, count)
    value, index = b.op("MaxPool", _batched(b, x, count), outputs=2, **attributes)
    plane = int(np.prod(shape_of(x)[-count:]))
    index = b.op("Mod", index, b.constant(plane, ir.DataType.INT64))
    value.dtype, index.dtype = x.dtype, ir.DataType.INT64
    return [b.reshape(value, out_shape(node)), b.reshape(index, out_shape(node))]


@lowers("avg_pool1d.default", "avg_pool2d.default", "avg_pool3d.default")
def _avg_pool(
    b: Builder,
    node: Any,
    x: Any,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: Any = None,
) -> Any:
    count = int(node.op[len("aten.avg_pool")])
    attributes = _pool_attributes(x, count, kernel, stride, padding, ceil_mode)
    attributes["count_include_pad"] = int(count_include_pad or divisor_override is not None)
    value = b.op("AveragePool", _batched(b, x, count), **attributes)
    value.dtype = x.dtype
    if divisor_override is not None:
        factor = float(np.prod(attributes["kernel_shape"])) / divisor_override
        value = b.op("Mul", value, b.constant(factor, x.dtype))
        value.dtype = x.dtype
    return b.reshape(value, out_shape(node))


@lowers("im2col.default")
def _im2col(b: Builder, node: Any, x: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Patches as a gather of the padded planes with constant positions."""
    n, c, height, width = shape_of(x)
    (ph, pw) = _repeated(padding, 2)
    value = b.op("Pad", x, b.ints([0, 0, ph, pw, 0, 0, ph, pw]), mode="constant") if ph or pw else x
    value.dtype = x.dtype
    full_h, full_w = height + 2 * ph, width + 2 * pw
    rows = _patch_positions(full_h, *(_repeated(v, 2)[0] for v in (kernel, dilation, stride)))
    columns = _patch_positions(full_w, *(_repeated(v, 2)[1] for v in (kernel, dilation, stride)))
    index = rows[:, None, :, None] * full_w + columns[None, :, None, :]
    flat = b.reshape(value, (n, c, full_h * full_w))
    patches = b.op("Gather", flat, b.constant(index.reshape(-1), ir.DataType.INT64), axis=2)
    patches.dtype = x.dtype
    return b.reshape(patches, out_shape(node))


def _patch_positions(size: int, kernel: int, dilation: int, stride: int) -> Any:
    """Positions (kernel offset, patch) along one axis."""
    count = (size - dilation * (kernel - 1) - 1) // stride + 1
    return np.arange(kernel)[:, None] * dilation + np.arange(count)[None, :] * stride


@lowers("col2im.default")
def _col2im(
    b: Builder, node: Any, x: Any, output_size: Any, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> Any:
    edges = _repeated(padding, 2)
    return b.op(
        "Col2Im",
        x,
        b.ints(output_size),
        b.ints(_repeated(kernel, 2)),
        dilations=_repeated(dilation, 2),
        pads=[*edges, *edges],
        strides=_repeated(stride, 2),
    )
