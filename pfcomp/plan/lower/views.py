"""What rearrangements mean: as a renaming of places where that is enough, otherwise as a map of elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from numpy.typing import NDArray

from pfcomp.kernels.api import Job
from pfcomp.layout import Layout, reshape, slice_axis, transpose
from pfcomp.layout.views import SliceView

Index = NDArray[np.int64]


def renamed(job: Job, layout: Layout) -> SliceView | None:
    """Where the result lies if the operand with `layout` is only read differently; None if data must move."""
    shape, result = job.inputs[0].shape, job.outputs[0].shape
    if job.op == "Identity":
        return SliceView(layout)
    if job.op == "Transpose":
        return SliceView(transpose(layout, _ints(job, "perm")))
    if job.op in ("Reshape", "Expand", "Tile") and prod(shape) == prod(result):
        return _plain(reshape(layout, shape, result))
    if job.op == "Slice":
        return _sliced(job, layout)
    return None


def original(job: Job, layout: Layout) -> Layout | None:
    """The operand's layout such that the result has `layout` by renaming alone; None if there is none."""
    shape, result = job.inputs[0].shape, job.outputs[0].shape
    if job.op == "Identity":
        return layout
    if job.op == "Transpose":
        order = _ints(job, "perm")
        return transpose(layout, tuple(order.index(k) for k in range(len(order))))
    if job.op == "Reshape":
        return reshape(layout, result, shape)
    return None


def _plain(layout: Layout | None) -> SliceView | None:
    return None if layout is None else SliceView(layout)


def _sliced(job: Job, layout: Layout) -> SliceView | None:
    starts, steps = _ints(job, "starts"), _ints(job, "steps")
    shape, view = list(job.inputs[0].shape), SliceView(layout)
    for axis, (start, step, count) in enumerate(zip(starts, steps, job.outputs[0].shape, strict=True)):
        if (start, step, count) == (0, 1, shape[axis]):
            continue
        if step < 1 or count < 1:
            return None
        part = slice_axis(view.layout, tuple(shape), axis, start, count, step=step)
        if part is None or part.time:
            return None
        view = SliceView(part.layout, view.addr + part.addr)
        shape[axis] = count
    return view


def source_maps(job: Job) -> list[Index]:
    """For every operand: the flat index of the element that each result element comes from, -1 if from elsewhere."""
    if job.op == "Concat":
        return _concatenated(job)
    positions = np.arange(prod(job.inputs[0].shape), dtype=np.int64).reshape(job.inputs[0].shape)
    return [np.ascontiguousarray(_moved(job, positions), np.int64).reshape(-1)]


def _moved(job: Job, positions: Index) -> Index:
    return _MOVED[job.op](job, positions)


def _pieces(job: Job, positions: Index) -> Index:
    starts, steps = _ints(job, "starts"), _ints(job, "steps")
    axes = [first + step * np.arange(n) for first, step, n in zip(starts, steps, job.outputs[0].shape, strict=True)]
    return positions[np.ix_(*axes)]


def _tiled(job: Job, positions: Index) -> Index:
    return np.tile(positions, [n // m for n, m in zip(job.outputs[0].shape, positions.shape, strict=True)])


_PAD_MODES = {"reflect": "reflect", "edge": "edge", "wrap": "wrap"}


def _padded(job: Job, positions: Index) -> Index:
    before, result = _ints(job, "before"), job.outputs[0].shape
    widths = [(b, n - m - b) for b, n, m in zip(before, result, positions.shape, strict=True)]
    inside = [slice(max(0, -b), m + min(0, a)) for (b, a), m in zip(widths, positions.shape, strict=True)]
    grown = [(max(0, b), max(0, a)) for b, a in widths]
    mode = _PAD_MODES.get(str(job.attribute("mode")))
    if mode is not None:
        return np.pad(positions[tuple(inside)], grown, mode=mode)  # type: ignore[call-overload,no-any-return]
    return np.pad(positions[tuple(inside)], grown, constant_values=-1)


def _unfolded(job: Job, positions: Index) -> Index:
    """Columns (batch, channel and kernel, place) of the windows."""
    kernel, places, before = _ints(job, "kernel"), _ints(job, "places"), _ints(job, "before")
    strides, dilations, sizes = _ints(job, "strides"), _ints(job, "dilations"), positions.shape[2:]
    rank, taken = len(kernel), positions.reshape(*positions.shape[:2], -1)
    flat, inside = np.zeros((1,) * (2 * rank), np.int64), np.ones((1,) * (2 * rank), np.bool_)
    for axis in range(rank):
        offsets = np.arange(kernel[axis])[:, None] * dilations[axis] + np.arange(places[axis]) * strides[axis]
        offsets -= before[axis]
        along = [1] * (2 * rank)
        along[axis], along[rank + axis] = offsets.shape
        here = offsets.reshape(along)
        flat = flat * sizes[axis] + here
        inside = inside & (here >= 0) & (here < sizes[axis])
    shape = np.broadcast_shapes(flat.shape, inside.shape)
    chosen = np.where(inside, flat, 0).reshape(-1)
    columns = np.where(np.broadcast_to(inside, shape).reshape(-1), taken[:, :, chosen], -1)
    return columns.reshape(job.outputs[0].shape)


def _folded(job: Job, positions: Index) -> Index:
    """(batch, channel, offset in the window, place in the image): the element of the columns that belongs there."""
    kernel, places, before = _ints(job, "kernel"), _ints(job, "places"), _ints(job, "before")
    strides, dilations, image = _ints(job, "strides"), _ints(job, "dilations"), _ints(job, "image")
    rank = len(kernel)
    place, inside = np.zeros((1,) * (2 * rank), np.int64), np.ones((1,) * (2 * rank), np.bool_)
    for axis in range(rank):
        distance = np.arange(image[axis]) + before[axis] - np.arange(kernel[axis])[:, None] * dilations[axis]
        along = [1] * (2 * rank)
        along[axis], along[rank + axis] = distance.shape
        number, rest = (part.reshape(along) for part in np.divmod(distance, strides[axis]))
        place = place * places[axis] + number
        inside = inside & (rest == 0) & (number >= 0) & (number < places[axis])
    batch, channels, offsets, elements = job.outputs[0].shape
    columns = positions.reshape(batch, channels, offsets, -1)
    chosen = np.where(inside, place, 0).reshape(1, 1, offsets, elements)
    there = np.broadcast_to(inside, place.shape).reshape(1, 1, offsets, elements)
    return np.where(there, np.take_along_axis(columns, chosen, 3), -1)


def _spread(job: Job, positions: Index) -> Index:
    """Elements `strides` apart behind `before` places that hold none."""
    whole = np.full(job.outputs[0].shape, -1, np.int64)
    strides, before = _ints(job, "strides"), _ints(job, "before")
    source, target = [], []
    for n, m, stride, first in zip(positions.shape, whole.shape, strides, before, strict=True):
        at = np.arange(n) * stride + first
        kept = (at >= 0) & (at < m)
        source.append(np.arange(n)[kept])
        target.append(at[kept])
    whole[np.ix_(*target)] = positions[np.ix_(*source)]
    return whole


_MOVED: dict[str, Callable[[Job, Index], Index]] = {
    "Reshape": lambda _, positions: positions,
    "Identity": lambda _, positions: positions,
    "Transpose": lambda job, positions: positions.transpose(_ints(job, "perm")),
    "Expand": lambda job, positions: np.broadcast_to(positions, job.outputs[0].shape),
    "Tile": _tiled,
    "Slice": _pieces,
    "Take": lambda job, _: np.asarray(_ints(job, "index"), np.int64),
    "Pad": _padded,
    "Unfold": _unfolded,
    "Fold": _folded,
    "Spread": _spread,
}


def _concatenated(job: Job) -> list[Index]:
    axis, start = int(job.attribute("axis")), 0  # type: ignore[arg-type]
    maps = []
    for operand in job.inputs:
        whole = np.full(job.outputs[0].shape, -1, np.int64)
        here = [slice(None)] * len(operand.shape)
        here[axis] = slice(start, start + operand.shape[axis])
        whole[tuple(here)] = np.arange(prod(operand.shape)).reshape(operand.shape)
        maps.append(whole.reshape(-1))
        start += operand.shape[axis]
    return maps


def _ints(job: Job, name: str) -> tuple[int, ...]:
    value = job.attribute(name)
    assert isinstance(value, tuple), name
    return value
