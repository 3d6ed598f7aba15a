"""Indices that are compared with positions: for few of them along an axis that is too long to lie in one PE."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.plan.lower.graph import Lowering

Shape = tuple[int, ...]

LONG_AXIS = 512
"""Indices of an axis from which on it need not lie in each PE as a whole."""
FEW = 4
"""Indices along such an axis up to which they are compared with all positions."""


def comparisons(low: Lowering, index: str, axis: int, shape: Shape) -> Iterator[str]:
    """For each of the indices along an axis: truth values of `shape`, where the position along the axis is the index.

    The other axes of the index are as long as those of `shape`.
    """
    index = from_the_start(low, whole(low, index), (shape[axis],))
    spec = low.spec(index)
    along = tuple(n if k == axis else 1 for k, n in enumerate(shape))
    places = low.constant(np.arange(shape[axis]).reshape(along), spec.dtype)
    for number in range(spec.shape[axis]):
        yield low.op("Equal", [low.part(index, axis, number, 1), places], shape, DType.BOOL)


def whole(low: Lowering, index: str) -> str:
    """Indices as numbers of 32 bits: no axis is longer, and they take half the room."""
    return low.op("Cast", [index], low.spec(index).shape, DType.INT) if low.spec(index).dtype is DType.LONG else index


def from_the_start(low: Lowering, index: str, lengths: Shape) -> str:
    """Indices from 0 on, where negative ones count from the end: of one length, or of one for each of the last axis."""
    shape, dtype = low.spec(index).shape, low.spec(index).dtype
    negative = low.op("Less", [index, low.constant(np.zeros(()), dtype)], shape, DType.BOOL)
    raised = low.op("Add", [index, low.constant(np.array(lengths), dtype)], shape)
    return low.op("Where", [negative, raised, index], shape, dtype)
