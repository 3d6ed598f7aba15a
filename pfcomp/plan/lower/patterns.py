"""How operators treat the axes of their operands and results: along which axes a node can be cut into nodes on pieces.

A pattern gives every axis a label. Equal labels belong to the same index: a piece of the result needs the pieces of the
operands with the same position. A label that no result has is summed over (or otherwise combined): pieces give partial
results. None marks an axis that the node needs as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from pfcomp.ir.model import MNNode
from pfcomp.kernels.api import Job, Spec
from pfcomp.kernels.registry import kernels
from pfcomp.plan.lower.graph import REARRANGEMENTS, CoreGraph

Label = str | None
Labels = tuple[Label, ...]
Shape = tuple[int, ...]

COMBINE = {"ReduceSum": "Add", "ReduceMean": "Add", "ReduceMax": "Max", "ReduceMin": "Min", "ReduceProd": "Mul"}
"""Operator that combines partial results of a reduction."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """Labels of all axes of the operands and the results; `combine` is the operator for partial results."""

    inputs: tuple[Labels, ...]
    outputs: tuple[Labels, ...]
    combine: str = ""

    @property
    def kept(self) -> tuple[str, ...]:
        """Labels of the results, in order."""
        return tuple(dict.fromkeys(label for labels in self.outputs for label in labels if label))

    @property
    def combined(self) -> tuple[str, ...]:
        """Labels of operands that no result has, in order."""
        labels = dict.fromkeys(label for labels in self.inputs for label in labels if label)
        return tuple(label for label in labels if label not in self.kept)


def pattern(graph: CoreGraph, node: MNNode) -> Pattern:
    """The pattern of a node; axes of length 1 have no labels."""
    job = graph.job(node, "")
    if node.op in _RULES:
        found = _RULES[node.op](job)
    elif node.op in REARRANGEMENTS or node.op in kernels():
        found = _whole(job)
    else:
        found = _elementwise(job)
    return _checked(job, found)


def _checked(job: Job, found: Pattern) -> Pattern:
    """Without labels on axes of length 1, and on axes whose partial results nothing combines."""
    kept = set(found.kept)

    def clean(labels: Labels, spec: Spec) -> Labels:
        marked = zip(labels, spec.shape, strict=True)
        return tuple(label if n > 1 and (found.combine or label in kept) else None for label, n in marked)

    inputs, outputs = map(clean, found.inputs, job.inputs), map(clean, found.outputs, job.outputs)
    return Pattern(tuple(inputs), tuple(outputs), found.combine)


def _whole(job: Job) -> Pattern:
    inputs, outputs = (tuple((None,) * len(s.shape) for s in specs) for specs in (job.inputs, job.outputs))
    return Pattern(inputs, outputs)


def _from_right(shape: Shape, result: Shape) -> Labels:
    """Axis k from the right of an operand belongs to axis k from the right of the result, if it has its length."""
    first = len(result) - len(shape)
    return tuple(f"axis{first + k}" if n == result[first + k] else None for k, n in enumerate(shape))


def _elementwise(job: Job) -> Pattern:
    result = job.outputs[0].shape
    inputs = tuple(_from_right(spec.shape, result) for spec in job.inputs)
    return Pattern(inputs, tuple(_from_right(spec.shape, result) for spec in job.outputs))


def _matmul(job: Job) -> Pattern:
    a, b, result = job.inputs[0].shape, job.inputs[1].shape, job.outputs[0].shape
    batch = result[:-2]
    left, right = (*_from_right(a[:-2], batch), "row", "sum"), (*_from_right(b[:-2], batch), "sum", "column")
    return Pattern((left, right), ((*_from_right(batch, batch), "row", "column"),), "Add")


def _reduction(job: Job) -> Pattern:
    axes = _axes(job)
    labels = tuple(f"axis{k}" for k in range(len(job.inputs[0].shape)))
    return Pattern((labels,), (_reduced(job, labels, axes),), COMBINE[job.op])


def _axes(job: Job) -> tuple[int, ...]:
    value = job.attribute("axes")
    assert isinstance(value, tuple)
    return value


def _reduced(job: Job, labels: Labels, axes: Sequence[int]) -> Labels:
    if job.attribute("keepdims"):
        return tuple(None if k in axes else label for k, label in enumerate(labels))
    return tuple(label for k, label in enumerate(labels) if k not in axes)


def _along(job: Job) -> int:
    axis = job.attribute("axis")
    assert isinstance(axis, int)
    return axis


def _position(job: Job) -> Pattern:
    """ArgMax and ArgMin: the position of an element is known only where the whole axis is."""
    axis = _along(job)
    labels = tuple(None if k == axis else f"axis{k}" for k in range(len(job.inputs[0].shape)))
    return Pattern((labels,), (_reduced(job, labels, (axis,)),))


def _except_axis(job: Job) -> Pattern:
    """CumSum and Concat: all axes but one."""
    axis = _along(job)
    labels = tuple(None if k == axis else f"axis{k}" for k in range(len(job.outputs[0].shape)))
    return Pattern((labels,) * len(job.inputs), (labels,))


def _gather(job: Job) -> Pattern:
    """Rows of a table: the table as a whole along the axis, everything else in pieces."""
    axis, rank = _along(job), len(job.inputs[1].shape)
    table = tuple(None if k == axis else f"axis{k}" for k in range(len(job.inputs[0].shape)))
    indices = tuple(f"index{k}" for k in range(rank))
    return Pattern((table, indices), ((*table[:axis], *indices, *table[axis + 1 :]),))


def _beside(job: Job) -> Pattern:
    """GatherElements, ScatterElements and TopK: all axes but one, as far as every operand and result is as long."""
    axis = _along(job)
    shapes = [spec.shape for spec in (*job.inputs, *job.outputs)]
    common = [k for k in range(len(shapes[0])) if k != axis and len({shape[k] for shape in shapes}) == 1]
    labels = tuple(f"axis{k}" if k in common else None for k in range(len(shapes[0])))
    return Pattern((labels,) * len(job.inputs), (labels,) * len(job.outputs))


def _scatter_rows(job: Job) -> Pattern:
    """Updates, index and data: all axes but the one along which the rows are chosen."""
    labels = tuple(None if k == _along(job) else f"axis{k}" for k in range(len(job.outputs[0].shape)))
    data = (labels,) if len(job.inputs) > 2 else ()
    return Pattern((labels, (None,), *data), (labels,))


def _transpose(job: Job) -> Pattern:
    order = job.attribute("perm")
    assert isinstance(order, tuple)
    return Pattern((tuple(f"axis{k}" for k in range(len(order))),), (tuple(f"axis{k}" for k in order),))


def _expand(job: Job) -> Pattern:
    shape, result = job.inputs[0].shape, job.outputs[0].shape
    first = len(result) - len(shape)
    repeated = [k < first or (shape[k - first] != n and shape[k - first] != 1) for k, n in enumerate(result)]
    own = tuple(None if k >= first and repeated[k] else f"axis{k}" for k in range(len(result)))
    return Pattern((_from_right(shape, result),), (own,))


def _same_places(job: Job) -> Pattern:
    """Slice, Pad and Spread: axes that they leave as they are."""
    shape, result = job.inputs[0].shape, job.outputs[0].shape
    first = job.attribute("starts") if job.op == "Slice" else job.attribute("before")
    steps = (1,) * len(shape) if job.op == "Pad" else job.attribute("steps" if job.op == "Slice" else "strides")
    assert isinstance(first, tuple)
    assert isinstance(steps, tuple)
    same = [n == m and f == 0 and s == 1 for n, m, f, s in zip(shape, result, first, steps, strict=True)]
    labels = tuple(f"axis{k}" if kept else None for k, kept in enumerate(same))
    return Pattern((labels,), (labels,))


def _unfold(job: Job) -> Pattern:
    """Pictures for themselves, and channels where their windows have an axis of their own."""
    shapes = [spec.shape for spec in (job.inputs[0], job.outputs[0])]
    alone = len(shapes[1]) > 3 and shapes[0][1] == shapes[1][1]
    own = ("axis0", "axis1") if alone else ("axis0",)
    before, after = ((*own, *(None,) * (len(shape) - len(own))) for shape in shapes)
    return Pattern((before,), (after,))


def _reshape(job: Job) -> Pattern:
    """Axes with as many elements before and behind them on both sides."""
    shape, result = job.inputs[0].shape, job.outputs[0].shape
    there = {(prod(result[:k]), n): k for k, n in enumerate(result) if n > 1}
    pairs = {k: there.get((prod(shape[:k]), n)) for k, n in enumerate(shape)}
    inputs = tuple(f"axis{pairs[k]}" if pairs[k] is not None else None for k in range(len(shape)))
    kept = set(inputs)
    return Pattern((inputs,), (tuple(f"axis{k}" if f"axis{k}" in kept else None for k in range(len(result))),))


_RULES: dict[str, Callable[[Job], Pattern]] = {
    "Identity": _elementwise,
    "MatMul": _matmul,
    **dict.fromkeys(COMBINE, _reduction),
    **dict.fromkeys(("ArgMax", "ArgMin"), _position),
    **dict.fromkeys(("CumSum", "Concat"), _except_axis),
    "Gather": _gather,
    **dict.fromkeys(("GatherElements", "ScatterElements", "TopK"), _beside),
    "ScatterRows": _scatter_rows,
    "Transpose": _transpose,
    **dict.fromkeys(("Expand", "Tile"), _expand),
    **dict.fromkeys(("Slice", "Pad", "Spread"), _same_places),
    **dict.fromkeys(("Unfold", "Fold"), _unfold),
    "Reshape": _reshape,
}
"""Other rearrangements and kernels need everything as a whole; other operators are element-wise."""
