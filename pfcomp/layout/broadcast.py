"""Operands of broadcasting operations: their co-located layout, whether one is aligned, and its addresses."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import SourceError
from pfcomp.layout.extents import extent, padded_shape, used_bits, with_broadcast
from pfcomp.layout.model import SPATIAL_LEVELS, Layout, Level, Subaxis
from pfcomp.layout.places import axis_coordinates

_Axis = tuple[Subaxis, ...]
_Pairs = tuple[NDArray[np.int64], NDArray[np.int64]]
_DENSE_LEVELS = (Level.ADDR, Level.TIME)


def broadcast_operand(layout: Layout, out_shape: tuple[int, ...], operand_shape: tuple[int, ...]) -> Layout:
    """The layout of an operand that lies where the elements of a result with `layout` need it.

    `operand_shape` follows numpy's rules: axes are aligned at the last one, missing axes and axes of one element
    repeat. The digits of repeated axes vanish: spatial ones become copies, for Addr and Time the remaining digits move
    together. Copies over MAB, L1B and L2B are stated as `B@[...]`. SourceError PF0202 if the shapes do not match.
    """
    _check_shapes(layout, out_shape, operand_shape)
    missing = len(out_shape) - len(operand_shape)
    axes: list[_Axis] = []
    dropped = {sub.level for axis in layout.axes[:missing] for sub in axis}
    for axis, out_size, size in zip(layout.axes[missing:], out_shape[missing:], operand_shape, strict=True):
        if size == out_size:
            axes.append(axis)
        else:
            axes.append(())
            dropped |= {sub.level for sub in axis}
    result = tuple(axes)
    for level in _DENSE_LEVELS:
        if level in dropped:
            result = _dense(result, level)
    return with_broadcast(Layout(result))


def _check_shapes(layout: Layout, out_shape: tuple[int, ...], operand_shape: tuple[int, ...]) -> None:
    missing = len(out_shape) - len(operand_shape)
    fits = missing >= 0 and all(
        size in (1, out) for size, out in zip(operand_shape, out_shape[max(missing, 0) :], strict=missing >= 0)
    )
    if not fits or len(layout.axes) != len(out_shape):
        raise SourceError("PF0202", f"shape {operand_shape} does not broadcast to {out_shape}", where=str(layout))


def _dense(axes: tuple[_Axis, ...], level: Level) -> tuple[_Axis, ...]:
    """The digits of `level` with new strides: same order, no gaps."""
    found = sorted({(sub.stride, sub.size) for axis in axes for sub in axis if sub.level is level and sub.size > 1})
    strides: dict[tuple[int, int], int] = {}
    total = 1
    for stride, size in found:
        strides[stride, size] = total
        total *= size

    def moved(sub: Subaxis) -> Subaxis:
        if sub.level is not level:
            return sub
        return Subaxis(sub.size, level, strides.get((sub.stride, sub.size), 1))

    return tuple(tuple(moved(sub) for sub in axis) for axis in axes)


def aligned(out_layout: Layout, out_shape: tuple[int, ...], in_layout: Layout, in_shape: tuple[int, ...]) -> bool:
    """True if every copy of every result element finds its operand element in its own PE, word and time slice.

    Addresses may differ: `address_map` gives them. `in_shape` broadcasts to `out_shape` as in numpy; False if not.
    """
    if not _broadcasts(out_layout, out_shape, in_layout, in_shape):
        return False
    for level in SPATIAL_LEVELS:
        needed = used_bits(in_layout, level)
        if needed & ~used_bits(out_layout, level):
            return False
        pairs = _pairs(_axis_pairs(out_layout, out_shape, in_layout, in_shape), level)
        if np.any((pairs[0] ^ pairs[1]) & needed):
            return False
    pairs = _pairs(_axis_pairs(out_layout, out_shape, in_layout, in_shape), Level.TIME)
    return extent(in_layout, Level.TIME) == 1 or bool(np.all(pairs[0] == pairs[1]))


def address_map(
    out_layout: Layout, out_shape: tuple[int, ...], in_layout: Layout, in_shape: tuple[int, ...]
) -> NDArray[np.int64] | None:
    """The operand's long-word address for every (time slice, long word) of the result, -1 where nothing is needed.

    Where the padding of result and operand agree it is mapped as well. None if PEs or words of one result address
    need different operand addresses, or if the shapes do not broadcast.
    """
    if not _broadcasts(out_layout, out_shape, in_layout, in_shape):
        return None
    addresses = extent(out_layout, Level.ADDR)
    padded_out, padded_in = padded_shape(out_layout), padded_shape(in_layout)
    missing = len(out_shape) - len(in_shape)
    padded = tuple(
        out if number < missing or in_shape[number - missing] == 1 else min(out, padded_in[number - missing])
        for number, out in enumerate(padded_out)
    )
    for counts in (padded, out_shape):
        pairs = _function(_axis_pairs(out_layout, counts, in_layout, in_shape), addresses)
        if pairs is not None:
            table = np.full(addresses * extent(out_layout, Level.TIME), -1, dtype=np.int64)
            table[pairs[0]] = pairs[1]
            return table.reshape(-1, addresses)
    return None


def _broadcasts(out_layout: Layout, out_shape: tuple[int, ...], in_layout: Layout, in_shape: tuple[int, ...]) -> bool:
    missing = len(out_shape) - len(in_shape)
    return (
        missing >= 0
        and len(out_layout.axes) == len(out_shape)
        and len(in_layout.axes) == len(in_shape)
        and all(size in (1, out) for size, out in zip(in_shape, out_shape[missing:], strict=True))
    )


def _axis_pairs(
    out_layout: Layout, counts: tuple[int, ...], in_layout: Layout, in_shape: tuple[int, ...]
) -> Iterator[tuple[_Axis, _Axis, int]]:
    """Per result axis: its digits, the operand's (none where it repeats) and how many indices to look at."""
    missing = len(counts) - len(in_shape)
    for number, (axis, count) in enumerate(zip(out_layout.axes, counts, strict=True)):
        repeats = number < missing or in_shape[number - missing] == 1
        yield axis, () if repeats else in_layout.axes[number - missing], count


def _pairs(axes: Iterator[tuple[_Axis, _Axis, int]], level: Level) -> _Pairs:
    """All combinations of (result coordinate, operand coordinate) of one level that occur together."""
    total: _Pairs = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    for out_axis, in_axis, count in axes:
        out = axis_coordinates(out_axis, count).get(level)
        own = axis_coordinates(in_axis, count).get(level)
        if out is None and own is None:
            continue
        zeros = np.zeros(count, dtype=np.int64)
        total = _sums(total, _unique(zeros if out is None else out, zeros if own is None else own))
    return total


def _function(axes: Iterator[tuple[_Axis, _Axis, int]], addresses: int) -> _Pairs | None:
    """All combinations of (time * `addresses` + address, operand address); None if one key has two values."""
    total: _Pairs = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
    for out_axis, in_axis, count in axes:
        out, own = axis_coordinates(out_axis, count), axis_coordinates(in_axis, count)
        zeros = np.zeros(count, dtype=np.int64)
        key = out.get(Level.ADDR, zeros) + addresses * out.get(Level.TIME, zeros)
        total = _sums(total, _unique(key, own.get(Level.ADDR, zeros)))
        if len(np.unique(total[0])) < len(total[0]):
            return None
    return total


def _unique(first: NDArray[np.int64], second: NDArray[np.int64]) -> _Pairs:
    """The distinct pairs of two arrays of coordinates below 2**31."""
    keys = np.unique((first << 31) | second)
    return keys >> 31, keys & ((1 << 31) - 1)


def _sums(total: _Pairs, more: _Pairs) -> _Pairs:
    """The distinct pairs that are a sum of one pair of each."""
    return _unique(np.add.outer(total[0], more[0]).reshape(-1), np.add.outer(total[1], more[1]).reshape(-1))
