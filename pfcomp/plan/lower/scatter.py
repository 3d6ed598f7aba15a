"""Scatters at run-time indices: whole rows, elements with indices of their own, a few elements along a long axis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

import numpy as np

from pfcomp.ir.elements import encode, pattern
from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels.api import Attribute
from pfcomp.plan.lower.graph import Lowering
from pfcomp.plan.lower.positions import FEW, LONG_AXIS, comparisons

Shape = tuple[int, ...]
Attributes = tuple[tuple[str, Attribute], ...]

COMBINED = {"add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}
"""Element-wise operators that combine old and new elements."""
ROOM = {"ScatterRows": 2048, "ScatterElements": 1024}
"""Long words of each PE that updates and indices of one job may take: every PE holds its part of all of them."""
PARALLEL = 8192
"""Elements that lie in different places on the chip."""


UNCHANGED = ("Identity", "Reshape", "Transpose", "Expand", "Tile", "Slice")
"""Rearrangements after which elements that are alike still are."""


def rows(low: Lowering, operands: tuple[str, str, str], axis: int, reduction: str, *, final: bool) -> str:
    """The result of writing rows: `operands` are data, a vector of indices, and updates with one row for each.

    Jobs of few rows follow each other, so that the order of equal indices stays. With `final` the result is that of
    the ONNX node.
    """
    data, index, updates = operands
    shape, count = low.spec(data).shape, low.spec(index).shape[0]
    attributes: Attributes = (("axis", axis), ("reduction", reduction))
    for start, size in _portions("ScatterRows", count, shape, axis):
        inputs = [low.part(updates, axis, start, size), low.part(index, 0, start, size)]
        fill = _same_everywhere(low, data)
        given: Attributes = (*attributes, ("fill", fill)) if fill is not None else attributes
        inputs += [data] if fill is None else []
        last = final and start + size == count
        data = _job(low, "ScatterRows", inputs, low.spec(data).shape, low.spec(data).dtype, given, last=last)
    return data


def elements(low: Lowering, axis: int, reduction: str) -> None:
    """ONNX ScatterElements."""
    data, index, updates = low.node.inputs
    shape, indices = low.shape(0), low.shape(1)
    alike = all(n == m for k, (n, m) in enumerate(zip(shape, indices, strict=True)) if k != axis)
    vector = _vector(low, index, axis) if alike else None
    if vector is not None:
        rows(low, (data, vector, updates), axis, reduction, final=True)
    elif alike and indices[axis] <= FEW and shape[axis] > LONG_AXIS:
        _compared(low, axis, reduction)
    else:
        attributes: Attributes = (("axis", axis), ("reduction", reduction))
        for start, size in _portions("ScatterElements", indices[axis], shape, axis):
            inputs = [data, *(low.part(name, axis, start, size) for name in (index, updates))]
            last = start + size == indices[axis]
            data = _job(low, "ScatterElements", inputs, shape, low.spec(data).dtype, attributes, last=last)


def _job(
    low: Lowering, op: str, inputs: Sequence[str], shape: Shape, dtype: DType, attributes: Attributes, *, last: bool
) -> str:
    if last:
        low.last(op, inputs, attributes)
        return low.node.outputs[0]
    return low.op(op, inputs, shape, dtype, attributes)


def _portions(op: str, count: int, shape: Shape, axis: int) -> Iterator[tuple[int, int]]:
    """First updates along the axis, and how many there are, of jobs that do not need too much local memory."""
    cells = -(-prod(shape) // (PARALLEL * shape[axis]))
    size = max(1, ROOM[op] // (cells + (2 if op == "ScatterElements" else 1)))
    for start in range(0, count, size):
        yield start, min(size, count - start)


def _vector(low: Lowering, index: str, axis: int) -> str | None:
    """The indices along the axis if they are the same for all elements of a row."""
    count = low.spec(index).shape[axis]
    if prod(low.spec(index).shape) == count:
        return low.op("Reshape", [index], (count,))
    made = _producer(low, index)
    if made is None or made.op != "Expand" or prod(low.spec(made.inputs[0]).shape) != count:
        return None
    source = low.spec(made.inputs[0]).shape
    behind = len(low.spec(index).shape) - axis
    return low.op("Reshape", [made.inputs[0]], (count,)) if source[-behind:][:1] == (count,) else None


def _producer(low: Lowering, name: str) -> MNNode | None:
    return next((node for node in reversed(low.graph.nodes) if name in node.outputs), None)


def _same_everywhere(low: Lowering, name: str) -> int | None:
    """The bits of all elements of a constant, or of a rearranged one, if they are alike."""
    source, made = name, _producer(low, name)
    while made is not None and made.op in UNCHANGED:
        source = made.inputs[0]
        made = _producer(low, source)
    found = low.graph.constants.get(source)
    if found is None or found.size == 0 or not np.all(found == found.reshape(-1)[0]):
        return None
    dtype = low.spec(name).dtype
    return pattern(encode(found, dtype), dtype)


def _compared(low: Lowering, axis: int, reduction: str) -> None:
    """A selection for every update: new elements where the position is the index, in order."""
    data, index, updates = low.node.inputs
    shape = low.shape(0)
    for number, here in enumerate(comparisons(low, index, axis, shape)):
        new = low.part(updates, axis, number, 1)
        if reduction != "none":
            new = low.op(COMBINED[reduction], [data, new], shape)
        last = number + 1 == low.shape(1)[axis]
        data = _job(low, "Where", [here, new, data], shape, low.spec(data).dtype, (), last=last)
