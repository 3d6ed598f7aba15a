"""Operators that only move elements: their attributes in one form, whatever the operands said."""

from __future__ import annotations

from pfcomp.ir.elements import pattern
from pfcomp.ir.model import MNNode
from pfcomp.kernels.api import Attribute
from pfcomp.plan.lower.graph import Lowering, UnknownError


def reshape(low: Lowering) -> None:
    """Reshape, Squeeze, Unsqueeze and Flatten: the shape of the result says everything."""
    low.last("Reshape", low.node.inputs[:1])


def transpose(low: Lowering) -> None:
    """The order of axes, reversed unless given."""
    rank = len(low.shape(0))
    order = low.attribute("perm", tuple(reversed(range(rank))))
    low.last("Transpose", low.node.inputs[:1], (("perm", order),))


def expand(low: Lowering) -> None:
    """The shape of the result says everything."""
    low.last("Expand", low.node.inputs[:1])


def sliced(low: Lowering) -> None:
    """First element and step of every axis."""
    shape = low.shape(0)
    starts, ends = low.ints(1), low.ints(2)
    if starts is None or ends is None:
        raise UnknownError("starts and ends must be given")
    axes = low.ints(3) or tuple(range(len(starts)))
    steps = low.ints(4) or (1,) * len(starts)
    first, stride = [0] * len(shape), [1] * len(shape)
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        first[axis], _, stride[axis] = slice(start, end, step).indices(shape[axis])
    low.last("Slice", low.node.inputs[:1], (("starts", tuple(first)), ("steps", tuple(stride))))


def split(low: Lowering) -> None:
    """One slice for every result."""
    shape = low.shape(0)
    axis = low.integer("axis", 0) % len(shape)
    start = 0
    for name in low.node.outputs:
        starts = tuple(start if k == axis else 0 for k in range(len(shape)))
        piece = low.node.name if len(low.node.outputs) == 1 else f"{low.node.name}.{name}"
        attributes = (("starts", starts), ("steps", (1,) * len(shape)))
        low.graph.nodes.append(MNNode(piece, "Slice", low.node.inputs[:1], (name,), attributes, low.node.source))
        start += low.spec(name).shape[axis]


def concat(low: Lowering) -> None:
    """An axis counted from the front."""
    axis = low.integer("axis", 0) % len(low.spec(low.node.outputs[0]).shape)
    low.last("Concat", low.node.inputs, (("axis", axis),))


def tile(low: Lowering) -> None:
    """The shape of the result says everything."""
    low.last("Tile", low.node.inputs[:1])


def pad(low: Lowering) -> None:
    """Elements in front of every axis, and what fills the places that none goes to."""
    shape, pads = low.shape(0), low.ints(1)
    mode = low.attribute("mode", "constant")
    axes = low.ints(3) or tuple(range(len(shape)))
    if pads is None:
        raise UnknownError("pads must be given")
    before, after = [0] * len(shape), [0] * len(shape)
    for k, axis in enumerate(axes):
        before[axis], after[axis] = pads[k], pads[k + len(axes)]
    value = low.known(2)
    bits = 0 if value is None else pattern(value, low.spec(low.node.inputs[0]).dtype)
    attributes: tuple[tuple[str, Attribute], ...] = (("before", tuple(before)), ("mode", mode), ("bits", bits))
    low.last("Pad", low.node.inputs[:1], attributes)
