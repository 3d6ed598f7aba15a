"""Resize: every axis is multiplied by a constant matrix, as it is linear; for `nearest` elements are taken.

The matrix of an axis has a row for every element of the result (coordinates and weights as ONNX defines them).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from pfcomp.plan.lower.graph import Lowering, UnknownError
from pfcomp.plan.lower.views import Index

Numbers = NDArray[np.float64]

COORDINATES: dict[str, Callable[[Numbers, float, int, int], Numbers]] = {
    "half_pixel": lambda x, scale, n, m: (x + 0.5) / scale - 0.5,
    "pytorch_half_pixel": lambda x, scale, n, m: (x + 0.5) / scale - 0.5 if m > 1 else 0 * x,
    "half_pixel_symmetric": lambda x, scale, n, m: n / 2 * (1 - m / (n * scale)) + (x + 0.5) / scale - 0.5,
    "align_corners": lambda x, scale, n, m: x * (n - 1) / (m - 1) if m > 1 else 0 * x,
    "asymmetric": lambda x, scale, n, m: x / scale,
}
"""The coordinate in the operand for one in the result; n and m are the lengths of both."""

NEAREST: dict[str, Callable[[Numbers], Numbers]] = {
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}


def resize(low: Lowering) -> None:
    """Axes that change one after the other."""
    _check(low)
    shape, result = low.shape(0), low.spec(low.node.outputs[0]).shape
    scales = _scales(low)
    changing = [k for k, scale in enumerate(scales) if shape[k] != result[k] or scale != 1]
    if low.attribute("mode", "nearest") == "nearest":
        positions = np.arange(np.prod(shape)).reshape(shape)
        for axis in changing:
            positions = np.take(positions, _nearest(low, scales[axis], shape[axis], result[axis]), axis)
        low.last("Take", low.node.inputs[:1], (("index", tuple(int(p) for p in positions.reshape(-1))),))
        return
    value = low.node.inputs[0]
    for axis in changing:
        value = _multiplied(low, value, axis, _matrix(low, scales[axis], shape[axis], result[axis]))
    low.last("Identity", [value])


def _check(low: Lowering) -> None:
    if low.attribute("coordinate_transformation_mode", "half_pixel") not in COORDINATES:
        raise UnknownError("cropping; slice first")
    if low.integer("antialias", 0) or low.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise UnknownError("antialias, and policies that keep the ratio; give sizes and antialias=0")
    if low.given(2) is None and low.given(3) is None:
        raise UnknownError("scales or sizes must be given")


def _scales(low: Lowering) -> list[float]:
    shape, result = low.shape(0), low.spec(low.node.outputs[0]).shape
    axes = low.attribute("axes", tuple(range(len(shape))))
    scales = [m / n for n, m in zip(shape, result, strict=True)]
    given = low.known(2)
    if given is not None and given.size:
        assert isinstance(axes, tuple)
        for axis, scale in zip(axes, np.asarray(given, np.float64), strict=True):
            scales[axis] = float(scale)
    return scales


def _coordinates(low: Lowering, scale: float, n: int, m: int) -> Numbers:
    mode = str(low.attribute("coordinate_transformation_mode", "half_pixel"))
    return COORDINATES[mode](np.arange(m, dtype=np.float64), scale, n, m)


def _nearest(low: Lowering, scale: float, n: int, m: int) -> Index:
    rounded = NEAREST[str(low.attribute("nearest_mode", "round_prefer_floor"))](_coordinates(low, scale, n, m))
    return np.clip(rounded, 0, n - 1).astype(np.int64)


def _matrix(low: Lowering, scale: float, n: int, m: int) -> Numbers:
    """(m, n): the weights of the operand's elements for every element of the result."""
    at = _coordinates(low, scale, n, m)
    cubic = low.attribute("mode", "nearest") == "cubic"
    if not cubic:
        at = np.clip(at, 0, n - 1)
    first = np.floor(at).astype(np.int64)
    offsets = range(-1, 3) if cubic else range(2)
    matrix = np.zeros((m, n))
    for offset in offsets:
        column, distance = first + offset, np.abs(at - first - offset)
        weight = _cubic(distance, float(low.attribute("cubic_coeff_a", -0.75))) if cubic else 1 - distance  # type: ignore[arg-type]
        if low.integer("exclude_outside", 0):
            weight = np.where((column < 0) | (column >= n), 0, weight)
        np.add.at(matrix, (np.arange(m), np.clip(column, 0, n - 1)), weight)
    return matrix / matrix.sum(1, keepdims=True) if low.integer("exclude_outside", 0) else matrix


def _cubic(x: Numbers, a: float) -> Numbers:
    """Keys' convolution kernel for distances below 2."""
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0))


def _multiplied(low: Lowering, value: str, axis: int, matrix: Numbers) -> str:
    spec = low.spec(value)
    rank, shape = len(spec.shape), spec.shape
    order = (*(k for k in range(rank) if k != axis), axis)
    back = tuple(order.index(k) for k in range(rank))
    weights = low.constant(np.ascontiguousarray(matrix.T), spec.dtype)
    turned = low.op("Transpose", [value], tuple(shape[k] for k in order), attributes=(("perm", order),))
    wanted = (*(shape[k] for k in order[:-1]), len(matrix))
    product = low.op("MatMul", [turned, weights], wanted)
    result = tuple(wanted[k] for k in back)
    return low.op("Transpose", [product], result, attributes=(("perm", back),))
