"""Running sums and largest elements: of a long axis part by part, then of what the parts give."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Attribute, Spec
from pfcomp.kernels.reduction.monoids import MONOIDS
from pfcomp.plan.lower.graph import Lowering, UnknownError

Shape = tuple[int, ...]
Attributes = tuple[tuple[str, Attribute], ...]

LANES = 32768
"""Rows that are worked on at the same time: words of all PEs, four cycles each."""
LONG_AXIS = 256
"""Elements from which on a running sum is made of parts."""
CHOICE, LONG_CHOICE = 4, 64
"""Elements of a part for each of the k largest, at least; elements up to which there is one part in any case."""


def cum_sum(low: Lowering) -> None:
    """Running sums in parts, to which the sum of all parts before is added."""
    axes = low.ints(1)
    if axes is None:
        raise UnknownError("the axis must be a constant")
    axis = axes[0] % len(low.shape(0))
    directions: Attributes = tuple((name, low.integer(name, 0)) for name in ("exclusive", "reverse"))
    x, shape = low.node.inputs[0], low.shape(0)
    if shape[axis] <= LONG_AXIS:
        low.last("CumSum", [x], (("axis", axis), *directions))
        return
    low.last("Identity", [_running_sum(low, x, axis, directions)])


def _running_sum(low: Lowering, x: str, axis: int, directions: Attributes) -> str:
    shape, dtype = low.spec(x).shape, low.spec(x).dtype
    if shape[axis] <= LONG_AXIS:
        return low.op("CumSum", [x], shape, attributes=(("axis", axis), *directions))
    rows = prod(shape) // shape[axis]
    parts = min(1 << (shape[axis].bit_length() // 2), max(2, LANES // rows))
    split = _in_parts(low, x, axis, -(-shape[axis] // parts), 0)
    whole = low.spec(split).shape
    inner = _running_sum(low, split, axis + 1, directions)
    over: Attributes = (("axes", (axis + 1,)), ("keepdims", 1))
    sums = low.op("ReduceSum", [split], (*whole[: axis + 1], 1, *whole[axis + 2 :]), dtype, over)
    before = _running_sum(low, sums, axis, (("exclusive", 1), *directions[1:]))
    joined = low.op("Reshape", [low.op("Add", [inner, before], whole)], _joined(whole, axis))
    return low.part(joined, axis, 0, shape[axis])


def top_k(low: Lowering) -> None:
    """Both results together; the kernel leaves them sorted, which is allowed without `sorted` as well."""
    count = low.ints(1)
    if count is None:
        raise UnknownError("k must be a constant")
    shape, dtype = low.shape(0), low.spec(low.node.inputs[0]).dtype
    axis, k = low.integer("axis", -1) % len(shape), count[0]
    chosen = Spec(tuple(k if n == axis else size for n, size in enumerate(shape)), DType.LONG)
    outputs = low.result(0, Spec(chosen.shape, dtype)), low.result(1, chosen)
    attributes: Attributes = tuple((name, low.integer(name, 1)) for name in ("largest", "sorted"))
    x, places = low.node.inputs[0], ""
    for size in _sizes(shape, axis, k) if ("ReduceMax", dtype) in MONOIDS else ():
        x, places = _best_of_parts(low, x, places, axis, size, k, attributes)
    if not places:
        low.together("TopK", [x], outputs, (("axis", axis), *attributes))
        return
    found = low.several("TopK", [x], (low.spec(outputs[0]), chosen), (("axis", axis), *attributes))
    low.named("Identity", found[:1], outputs[0])
    low.named("GatherElements", [places, found[1]], outputs[1], (("axis", axis),))


def _sizes(shape: Shape, axis: int, k: int) -> Iterator[int]:
    """Elements of the parts, again and again, until what they give is a short axis."""
    length, rows = shape[axis], prod(shape) // shape[axis]
    while length > max(LONG_CHOICE, 2 * CHOICE * k):
        size = max(CHOICE * k, 1 << (-(-length * rows // LANES) - 1).bit_length())
        yield size
        length = -(-length // size) * k


def _best_of_parts(
    low: Lowering, x: str, places: str, axis: int, size: int, k: int, attributes: Attributes
) -> tuple[str, str]:
    """The best k of every part along the axis, and where they are in the node's operand; `places`: where x is there.

    Of equal elements earlier ones stay before later ones, and all before those that fill the last part.
    """
    dtype = low.spec(x).dtype
    worst = MONOIDS["ReduceMax" if dict(attributes)["largest"] else "ReduceMin", dtype].neutral
    split = _in_parts(low, x, axis, size, worst)
    shape = low.spec(split).shape
    chosen = (*shape[: axis + 1], k, *shape[axis + 2 :])
    specs = (Spec(chosen, dtype), Spec(chosen, DType.LONG))
    best, position = low.several("TopK", [split], specs, (("axis", axis + 1), *attributes))
    if places:
        given = _in_parts(low, places, axis, size, 0)
        found = low.op("GatherElements", [given, position], chosen, attributes=(("axis", axis + 1),))
    else:
        first = (size * np.arange(shape[axis])).reshape(-1, *(1,) * (len(shape) - axis - 1))
        found = low.op("Add", [position, low.constant(first, DType.LONG)], chosen)
    joined = _joined(chosen, axis)
    return low.op("Reshape", [best], joined), low.op("Reshape", [found], joined)


def _joined(shape: Shape, axis: int) -> Shape:
    """The axes of parts and of elements within them as one."""
    return (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])


def _in_parts(low: Lowering, x: str, axis: int, size: int, bits: int) -> str:
    """An axis as one of parts and one of `size` elements; the last part is filled up with elements of these bits."""
    shape = low.spec(x).shape
    count = -(-shape[axis] // size)
    padded = (*shape[:axis], count * size, *shape[axis + 1 :])
    if padded != shape:
        end: Attributes = (("before", (0,) * len(shape)), ("mode", "constant"), ("bits", bits))
        x = low.op("Pad", [x], padded, attributes=end)
    return low.op("Reshape", [x], (*shape[:axis], count, size, *shape[axis + 1 :]))
