"""Resampling: each axis is a linear operator known at compile time, so most are a gather or a small matrix product."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import torch
from torch.utils._python_dispatch import _disable_current_modes

from pfcomp.frontend.lower.builder import Builder, out_shape, out_type, shape_of
from pfcomp.frontend.lower.table import lowers


@lowers("upsample_nearest1d.default", "upsample_nearest2d.default", "upsample_nearest3d.default")
def _nearest(b: Builder, node: Any, x: Any, size: Any, *scales: Any) -> Any:
    return _gathered(b, node, x, scales, exact=False)


@lowers("_upsample_nearest_exact1d.default", "_upsample_nearest_exact2d.default", "_upsample_nearest_exact3d.default")
def _nearest_exact(b: Builder, node: Any, x: Any, size: Any, *scales: Any) -> Any:
    return _gathered(b, node, x, scales, exact=True)


def _gathered(b: Builder, node: Any, x: Any, scales: Any, exact: bool) -> Any:
    shape, result = list(shape_of(x)), out_shape(node)
    value = x
    for axis in range(2, len(shape)):
        if shape[axis] == result[axis]:
            continue
        scale = scales[axis - 2] if axis - 2 < len(scales) else None
        positions = nearest_positions(shape[axis], result[axis], scale, exact)
        value = b.op("Gather", value, b.constant(positions, ir.DataType.INT64), axis=axis)
    return value


def nearest_positions(size: int, wanted: int, scale: float | None, exact: bool) -> Any:
    """Source position of each element along one axis, in torch's single-precision arithmetic."""
    ratio = np.float32(1 / scale) if scale else np.float32(size) / np.float32(wanted)
    steps = np.arange(wanted, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.minimum(np.floor(steps * ratio).astype(np.int64), size - 1)


_LINEAR = {
    "aten.upsample_linear1d.default": "linear",
    "aten.upsample_bilinear2d.default": "bilinear",
    "aten.upsample_trilinear3d.default": "trilinear",
    "aten.upsample_bicubic2d.default": "bicubic",
}


@lowers(*_LINEAR)
def _interpolated(b: Builder, node: Any, x: Any, size: Any, align_corners: bool, *scales: Any) -> Any:
    """One matrix product for each axis that changes; the matrix is torch's own operator on an identity."""
    shape, result = list(shape_of(x)), out_shape(node)
    dtype = out_type(node)
    cubic = _LINEAR[node.op] == "bicubic"
    value, rank = x, len(shape)
    for axis in range(rank - 1, 1, -1):
        if shape[axis] == result[axis]:
            continue
        scale = scales[axis - 2] if axis - 2 < len(scales) else None
        matrix = resampling_matrix(shape[axis], result[axis], cubic, align_corners, scale)
        if axis == rank - 1:
            value = b.op("MatMul", value, b.constant(matrix.T, dtype))
            continue
        order = [*range(axis), *range(axis + 1, rank), axis]
        back = np.argsort(order).tolist()
        moved = b.op("MatMul", b.op("Transpose", value, perm=order), b.constant(matrix.T, dtype))
        value = b.op("Transpose", moved, perm=back)
    return value


def resampling_matrix(size: int, wanted: int, cubic: bool, align_corners: bool, scale: float | None) -> Any:
    """(wanted, size) float32 matrix of torch's linear or cubic interpolation along one axis."""
    with _disable_current_modes():
        identity = torch.eye(size).reshape(1, size, size, 1)
        operator = torch.ops.aten.upsample_bicubic2d if cubic else torch.ops.aten.upsample_bilinear2d
        return operator(identity, [wanted, 1], align_corners, scale, None)[0, :, :, 0].T.numpy()
