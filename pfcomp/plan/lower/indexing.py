"""Gathers and scatters: by constant indices elements only move, tuples of indices become single ones.

Run-time indices stay with kernels; for scatters see `pfcomp.plan.lower.scatter`.
"""

from __future__ import annotations

from math import prod

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Attribute
from pfcomp.plan.lower import gather as gather_rules
from pfcomp.plan.lower import scatter
from pfcomp.plan.lower.graph import Lowering
from pfcomp.plan.lower.positions import from_the_start
from pfcomp.plan.lower.views import Index

Shape = tuple[int, ...]


def gather(low: Lowering) -> None:
    """Whole rows; a scalar index removes the axis."""
    axis = low.integer("axis", 0) % len(low.shape(0))
    shape, chosen = low.shape(0), _known_index(low, 1)
    if chosen is None:
        low.last("Gather", low.node.inputs, (("axis", axis),))
    else:
        _take(low, np.take(_positions(shape), chosen % shape[axis], axis=axis))


def gather_elements(low: Lowering) -> None:
    """An index for every element of the result."""
    shape = low.shape(0)
    axis, chosen = low.integer("axis", 0) % len(shape), _known_index(low, 1)
    if chosen is None:
        gather_rules.elements(low, axis)
        return
    part = tuple(slice(n) if k != axis else slice(None) for k, n in enumerate(chosen.shape))
    _take(low, np.take_along_axis(_positions(shape)[part], chosen % shape[axis], axis=axis))


def gather_nd(low: Lowering) -> None:
    """Rows of the data with its indexed axes, and the batch axes before them, joined to one."""
    shape, index, batch = low.shape(0), low.shape(1), low.integer("batch_dims", 0)
    indexed = batch + index[-1]
    chosen = _known_index(low, 1)
    if chosen is not None:
        _take(low, _taken(shape, chosen, batch))
        return
    rows, row = prod(shape[:indexed]), prod(shape[indexed:])
    tuples = low.node.inputs[1]
    if batch or index[-1] > 1:
        tuples = from_the_start(low, tuples, shape[batch:indexed])
    flat = _joined(low, tuples, shape[batch:indexed])
    if batch:
        first = np.arange(prod(shape[:batch])) * prod(shape[batch:indexed])
        first = first.reshape(*shape[:batch], *(1,) * (len(index) - 1 - batch))
        flat = low.op("Add", [flat, low.constant(first, low.spec(flat).dtype)], index[:-1])
    flat = low.op("Reshape", [flat], (prod(index[:-1]),))
    data = low.op("Reshape", [low.node.inputs[0]], (rows, row))
    found = low.op("Gather", [data, flat], (prod(index[:-1]), row), low.spec(data).dtype, (("axis", 0),))
    low.last("Reshape", [found])


def scatter_elements(low: Lowering) -> None:
    """An index for every element of the updates."""
    shape = low.shape(0)
    axis, reduction = low.integer("axis", 0) % len(shape), low.attribute("reduction", "none")
    chosen = _known_index(low, 1)
    if chosen is None or reduction != "none":
        scatter.elements(low, axis, str(reduction))
        return
    part = tuple(slice(n) if k != axis else slice(None) for k, n in enumerate(chosen.shape))
    _replace(low, np.take_along_axis(_positions(shape)[part], chosen % shape[axis], axis=axis))


def scatter_nd(low: Lowering) -> None:
    """Rows of the data with its indexed axes joined to one; one index for all elements of a row of updates."""
    shape, index = low.shape(0), low.shape(1)
    indexed, reduction = index[-1], low.attribute("reduction", "none")
    chosen = _known_index(low, 1)
    if chosen is not None and reduction == "none":
        _replace(low, _taken(shape, chosen, 0))
        return
    rows, row, count = prod(shape[:indexed]), prod(shape[indexed:]), prod(index[:-1])
    tuples = low.node.inputs[1]
    if indexed > 1:
        tuples = from_the_start(low, tuples, shape[:indexed])
    flat = low.op("Reshape", [_joined(low, tuples, shape[:indexed])], (count,))
    data, updates = low.node.inputs[0], low.node.inputs[2]
    operands = (low.op("Reshape", [data], (rows, row)), flat, low.op("Reshape", [updates], (count, row)))
    low.last("Reshape", [scatter.rows(low, operands, 0, str(reduction), final=False)])


def _known_index(low: Lowering, operand: int) -> Index | None:
    found = low.graph.constants.get(low.node.inputs[operand])
    return None if found is None else np.asarray(found, np.int64)


def _positions(shape: Shape) -> Index:
    """The flat index of every element."""
    return np.arange(prod(shape)).reshape(shape)


def _taken(shape: Shape, tuples: Index, batch: int) -> Index:
    """Flat indices of what tuples of indices choose, for every element of the rows behind the indexed axes."""
    lead = tuples.shape[:-1]
    axes = [n.reshape(*n.shape, *(1,) * (len(lead) - batch)) for n in np.indices(shape[:batch])]
    axes += [tuples[..., k] % shape[batch + k] for k in range(tuples.shape[-1])]
    return np.broadcast_to(_positions(shape)[tuple(axes)], (*lead, *shape[len(axes) :]))


def _take(low: Lowering, positions: Index) -> None:
    low.last("Take", low.node.inputs[:1], (("index", _flat(positions)),))


def _flat(positions: Index) -> Shape:
    return tuple(int(p) for p in positions.reshape(-1))


def _replace(low: Lowering, positions: Index) -> None:
    """Updates in the places `positions` of the data, later ones over earlier ones."""
    shape, dtype = low.shape(0), low.spec(low.node.inputs[0]).dtype
    source = np.full(prod(shape), -1)
    source[positions.reshape(-1)] = np.arange(positions.size)
    taken = low.op("Take", [low.node.inputs[2]], shape, dtype, (("index", _flat(np.maximum(source, 0))),))
    kept = low.constant((source < 0).reshape(shape), DType.BOOL)
    low.last("Where", [kept, low.node.inputs[0], taken])


def _joined(low: Lowering, tuples: str, lengths: Shape) -> str:
    """Tuples of indices along the last axis as single indices."""
    shape, dtype = low.spec(tuples).shape, low.spec(tuples).dtype
    if len(lengths) == 1:
        return low.op("Reshape", [tuples], shape[:-1])
    strides = [prod(lengths[k + 1 :]) for k in range(len(lengths))]
    scaled = low.op("Mul", [tuples, low.constant(np.array(strides), dtype)], shape)
    over: tuple[tuple[str, Attribute], ...] = (("axes", (len(shape) - 1,)), ("keepdims", 0))
    return low.op("ReduceSum", [scaled], shape[:-1], attributes=over)
