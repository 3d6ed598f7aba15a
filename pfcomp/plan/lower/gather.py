"""GatherElements at run-time indices: in each PE, by comparing with positions, or in parts of a long axis."""

from __future__ import annotations

from math import prod

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Attribute
from pfcomp.plan.lower.graph import Lowering
from pfcomp.plan.lower.positions import FEW, LONG_AXIS, comparisons, from_the_start, whole

Shape = tuple[int, ...]
Attributes = tuple[tuple[str, Attribute], ...]

PARALLEL = 8192
"""Elements that lie in different places on the chip."""


def elements(low: Lowering, axis: int) -> None:
    """ONNX GatherElements.

    Of a long axis, every element of the result is the sum of what is found in all parts, or at all positions, of which
    only one is not zero.
    """
    shape, indices = low.shape(0), low.shape(1)
    if prod(indices) == indices[axis]:
        vector = low.op("Reshape", [low.node.inputs[1]], (indices[axis],))
        low.last("Identity", [low.op("Gather", [_beside(low, axis), vector], indices, attributes=(("axis", axis),))])
    elif shape[axis] <= LONG_AXIS:
        low.last("GatherElements", low.node.inputs, (("axis", axis),))
    elif indices[axis] <= FEW:
        _compared(low, _beside(low, axis), axis)
    else:
        _in_parts(low, _beside(low, axis), axis)


def _beside(low: Lowering, axis: int) -> str:
    """The data as far as there are indices for it."""
    shape = tuple(n if k == axis else m for k, (n, m) in enumerate(zip(low.shape(0), low.shape(1), strict=True)))
    data = low.node.inputs[0]
    if shape == low.shape(0):
        return data
    rank = len(shape)
    return low.op("Slice", [data], shape, attributes=(("starts", (0,) * rank), ("steps", (1,) * rank)))


def _compared(low: Lowering, data: str, axis: int) -> None:
    """A selection and a sum for every index."""
    spec, zero = low.spec(data), low.constant(np.zeros(()), low.spec(data).dtype)
    one = tuple(1 if k == axis else n for k, n in enumerate(spec.shape))
    found = []
    for here in comparisons(low, low.node.inputs[1], axis, spec.shape):
        kept = low.op("Where", [here, data, zero], spec.shape, spec.dtype)
        found.append(_total(low, kept, axis, one, keepdims=1))
    low.last("Concat" if len(found) > 1 else "Identity", found, (("axis", axis),) if len(found) > 1 else ())


def _total(low: Lowering, name: str, axis: int, shape: Shape, *, keepdims: int) -> str:
    """The only element along an axis that is not zero."""
    op = "ReduceMax" if low.spec(name).dtype is DType.BOOL else "ReduceSum"
    return low.op(op, [name], shape, attributes=(("axes", (axis,)), ("keepdims", keepdims)))


def _in_parts(low: Lowering, data: str, axis: int) -> None:
    """The axis becomes one of parts and one within the part; every part looks for all indices."""
    shape, dtype = low.spec(data).shape, low.spec(data).dtype
    count = _parts(shape, axis)
    size = -(-shape[axis] // count)
    padded = (*shape[:axis], count * size, *shape[axis + 1 :])
    if padded != shape:
        end: Attributes = (("before", (0,) * len(shape)), ("mode", "constant"), ("bits", 0))
        data = low.op("Pad", [data], padded, attributes=end)
    data = low.op("Reshape", [data], (*shape[:axis], count, size, *shape[axis + 1 :]))
    index = from_the_start(low, whole(low, low.node.inputs[1]), (shape[axis],))
    wanted, kind = low.spec(index).shape, low.spec(index).dtype
    index = low.op("Reshape", [index], (*wanted[:axis], 1, *wanted[axis:]))
    first = (size * np.arange(count)).reshape(count, *(1,) * (len(shape) - axis))
    spread = (*wanted[:axis], count, *wanted[axis:])
    local = low.op("Sub", [index, low.constant(first, kind)], spread)
    above, below = (low.constant(np.array(bound), kind) for bound in (-1, size))
    here = low.op(
        "And",
        [low.op("Less", [above, local], spread, DType.BOOL), low.op("Less", [local, below], spread, DType.BOOL)],
        spread,
    )
    found = low.op("GatherElements", [data, local], spread, dtype, (("axis", axis + 1),))
    kept = low.op("Where", [here, found, low.constant(np.zeros(()), dtype)], spread, dtype)
    low.last("Identity", [_total(low, kept, axis, wanted, keepdims=0)])


def _parts(shape: Shape, axis: int) -> int:
    """As many parts as make use of the whole chip, and so many that none is long."""
    others = 1 << (prod(shape) // shape[axis] - 1).bit_length()
    needed = -(-shape[axis] // LONG_AXIS)
    return max(PARALLEL // others, 1 << (needed - 1).bit_length())
