"""Reshape, transpose and slice as renamings: a layout of the same data for the new shape (backend-movement.md 3.6)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from pfcomp.layout.canonical import deal
from pfcomp.layout.extents import padded_shape
from pfcomp.layout.model import Layout, Level, Subaxis

_Axis = tuple[Subaxis, ...]
_BASE_LEVELS = (Level.ADDR, Level.TIME)


@dataclass(frozen=True, slots=True)
class SliceView:
    """A part of a value: its layout, to be read `addr` long words and `time` slices behind the value's base."""

    layout: Layout
    addr: int = 0
    time: int = 0


def transpose(layout: Layout, order: tuple[int, ...]) -> Layout:
    """The layout after axis `order[i]` has become axis i."""
    return Layout(tuple(layout.axes[axis] for axis in order), layout.broadcast)


def reshape(layout: Layout, shape: tuple[int, ...], new_shape: tuple[int, ...]) -> Layout | None:
    """The layout of the same places under `new_shape` (row-major order of elements); None if no renaming does it."""
    if prod(shape) != prod(new_shape):
        return None
    padded = padded_shape(layout)
    old = [
        (axis, size, total)
        for axis, size, total in zip(layout.axes, shape, padded, strict=True)
        if size > 1 or total > 1
    ]
    axes: list[_Axis] = []
    position = 0
    while position < len(new_shape):
        if new_shape[position] == 1 and not (old and old[0][1] == 1):
            axes.append(())
            position += 1
            continue
        taken, width = _block(old, new_shape[position:])
        block = _regroup(old[:taken], new_shape[position : position + width])
        if block is None:
            return None
        axes.extend(block)
        old, position = old[taken:], position + width
    return None if old else Layout(tuple(axes), layout.broadcast)


def _block(old: list[tuple[_Axis, int, int]], new: tuple[int, ...]) -> tuple[int, int]:
    """How many of the old and the new axes have the same product, at least one of each."""
    taken, width = 1, 1
    while True:
        before, after = prod(size for _, size, _ in old[:taken]), prod(new[:width])
        if before == after:
            return taken, width
        if before < after:
            taken += 1
        else:
            width += 1


def _regroup(old: list[tuple[_Axis, int, int]], new: tuple[int, ...]) -> tuple[_Axis, ...] | None:
    """The digits of adjacent old axes dealt out to the new ones; only the slowest axis may have padding."""
    if any(size != total for _, size, total in old[1:]):
        return None
    return deal(tuple(sub for axis, _, _ in old for sub in axis), new[1:])


def slice_axis(
    layout: Layout, shape: tuple[int, ...], axis: int, start: int, count: int, *, step: int = 1
) -> SliceView | None:
    """The view of elements `start`, `start + step`, ... (`count` of them) of one axis; None if no renaming gives it.

    Spatial digits can only stay at their first value (they turn into padding); Addr and Time digits move the base.
    `start`, `count` >= 1 and `step` >= 1 must stay inside the axis.
    """
    digits = layout.axes[axis]
    halves = deal(digits, (step,))
    if halves is not None:
        parts = (_run(halves[0], start // step, count, 1), _fixed(halves[1], start % step))
    else:
        parts = (_run(digits, start, count, step), _Part((), (), 0, 0))
    run, rest = parts
    if run is None or rest is None:
        return None
    new_axis = (*rest.padding, *run.padding, *run.digits)
    axes = (*layout.axes[:axis], new_axis, *layout.axes[axis + 1 :])
    return SliceView(Layout(axes, layout.broadcast), run.addr + rest.addr, run.time + rest.time)


@dataclass(frozen=True, slots=True)
class _Part:
    """Digits that still run, digits that only pad, and the base offsets of those that are fixed."""

    digits: _Axis
    padding: _Axis
    addr: int
    time: int


def _fixed(digits: _Axis, value: int) -> _Part | None:
    """All digits held at the values that spell `value`; None if that leaves a spatial digit at a value above 0."""
    padding: list[Subaxis] = []
    offsets = dict.fromkeys(_BASE_LEVELS, 0)
    for sub in reversed(digits):
        value, digit = divmod(value, sub.size)
        if sub.level in _BASE_LEVELS:
            offsets[sub.level] += digit * sub.stride
        elif digit:
            return None
        else:
            padding.insert(0, sub)
    return _Part((), tuple(padding), offsets[Level.ADDR], offsets[Level.TIME])


def _run(digits: _Axis, start: int, count: int, step: int) -> _Part | None:
    """`count` values from `start` in steps of `step`, all of them within one digit and the ones below it."""
    below = 1
    for position in reversed(range(len(digits))):
        sub = digits[position]
        part = _run_in(digits, position, below, (start, count, step))
        if part is not None:
            return part
        below *= sub.size
    return _Part(digits, (), 0, 0) if start == 0 and count == 1 else None


def _run_in(digits: _Axis, position: int, below: int, wanted: tuple[int, int, int]) -> _Part | None:
    """The run if digit `position` (with `below` combinations of faster digits) is the slowest one that changes."""
    start, count, step = wanted
    sub = digits[position]
    whole = step == 1 and start % below == 0
    single = step % below == 0
    if not (whole or single):
        return None
    stride = 1 if whole else step // below
    values = -(-count // below) if whole else count
    first = start // below % sub.size
    if first + (values - 1) * stride >= sub.size:
        return None
    slow = _fixed(digits[:position], start // below // sub.size)
    fast = _Part(digits[position + 1 :], (), 0, 0) if whole else _fixed(digits[position + 1 :], start % below)
    own = _own_digit(sub, first, values, stride)
    if slow is None or fast is None or own is None:
        return None
    return _Part(
        (*own.digits, *fast.digits),
        (*slow.padding, *fast.padding),
        slow.addr + fast.addr + own.addr,
        slow.time + fast.time + own.time,
    )


def _own_digit(sub: Subaxis, first: int, values: int, stride: int) -> _Part | None:
    """The digit that takes `values` values from `first` on, `stride` apart."""
    if sub.level in _BASE_LEVELS:
        offset = first * sub.stride
        digit = Subaxis(values, sub.level, sub.stride * stride)
        return _Part((digit,), (), offset, 0) if sub.level is Level.ADDR else _Part((digit,), (), 0, offset)
    if first or stride > 1:
        return None
    return _Part((sub,), (), 0, 0)
