"""Operators that move blocks between axes, and one-hot rows."""

from __future__ import annotations

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.plan.lower.graph import Lowering, UnknownError


def depth_to_space(low: Lowering) -> None:
    """(n, channels, h, w): blocks of channels become squares, in the order `mode`."""
    n, channels, h, w = low.shape(0)
    size = low.integer("blocksize", 1)
    rest = channels // size**2
    columns_first = low.attribute("mode", "DCR") == "DCR"
    split = (n, size, size, rest, h, w) if columns_first else (n, rest, size, size, h, w)
    order = (0, 3, 4, 1, 5, 2) if columns_first else (0, 1, 4, 2, 5, 3)
    _turned(low, split, order)


def space_to_depth(low: Lowering) -> None:
    """(n, channels, h, w): squares become blocks of channels."""
    n, channels, h, w = low.shape(0)
    size = low.integer("blocksize", 1)
    _turned(low, (n, channels, h // size, size, w // size, size), (0, 3, 5, 1, 2, 4))


def _turned(low: Lowering, split: tuple[int, ...], order: tuple[int, ...]) -> None:
    parts = low.op("Reshape", low.node.inputs[:1], split)
    turned = low.op("Transpose", [parts], tuple(split[k] for k in order), attributes=(("perm", order),))
    low.last("Reshape", [turned])


def one_hot(low: Lowering) -> None:
    """A selection where the index equals the position; negative indices count from the end."""
    values = low.known(2)
    if values is None:
        raise UnknownError("the values must be constants")
    index, result = low.spec(low.node.inputs[0]), low.spec(low.node.outputs[0])
    if index.dtype not in (DType.INT, DType.LONG):
        raise UnknownError(f"indices of type {index.dtype}")
    axis = low.integer("axis", -1) % len(result.shape)
    depth = result.shape[axis]
    along = tuple(depth if k == axis else 1 for k in range(len(result.shape)))
    shape = tuple(1 if k == axis else n for k, n in enumerate(result.shape))
    spread = low.op("Reshape", [low.node.inputs[0]], shape)
    places = [np.arange(depth).reshape(along) - shift for shift in (0, depth)]
    here, wrapped = (
        low.op("Equal", [spread, low.constant(place, index.dtype)], result.shape, DType.BOOL) for place in places
    )
    hot = low.op("Or", [here, wrapped], result.shape)
    off, on = (low.constant(np.array(v), result.dtype) for v in values.reshape(-1))
    low.last("Where", [hot, on, off])
