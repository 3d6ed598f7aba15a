"""Nearest-neighbour resampling: a gather with constant positions along each axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.frontend.lower.builder import Builder, out_shape, shape_of
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
