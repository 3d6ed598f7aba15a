"""Coordinates both ways: element -> place, for one index or a whole shape, and place -> element."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import SourceError
from pfcomp.layout.extents import copy_offsets, extent, level_extent, used_bits
from pfcomp.layout.model import SPATIAL_LEVELS, Layout, Level, Subaxis


@dataclass(frozen=True, slots=True)
class Place:
    """Where an element lies: L2B of the chip, L1B of the L2B, MAB of the L1B, PE of the MAB, long word, slice, W.

    `addr` is relative to the value's base, `time` is the slice number, `w` counts from the most significant end.
    """

    l2b: int = 0
    l1b: int = 0
    mab: int = 0
    pe: int = 0
    w: int = 0
    addr: int = 0
    time: int = 0

    def coordinate(self, level: Level) -> int:
        return {
            Level.L2B: self.l2b,
            Level.L1B: self.l1b,
            Level.MAB: self.mab,
            Level.PE: self.pe,
            Level.W: self.w,
            Level.ADDR: self.addr,
            Level.TIME: self.time,
        }[level]


def axis_coordinates(axis: tuple[Subaxis, ...], count: int) -> dict[Level, NDArray[np.int64]]:
    """What the first `count` indices of an axis add to each level's coordinate; levels without digits are left out."""
    found: dict[Level, NDArray[np.int64]] = {}
    rest = np.arange(count, dtype=np.int64)
    for sub in reversed(axis):
        rest, digit = np.divmod(rest, sub.size)
        if sub.size > 1:
            found[sub.level] = found.get(sub.level, np.zeros(count, dtype=np.int64)) + digit * sub.stride
    return found


def coordinates(layout: Layout, shape: tuple[int, ...], level: Level) -> NDArray[np.int64]:
    """The `level` coordinate of every element of `shape` (its first copy), as an int64 array of that shape."""
    total = np.zeros(shape, dtype=np.int64)
    for number, (axis, size) in enumerate(zip(layout.axes, shape, strict=True)):
        values = axis_coordinates(axis, size).get(level)
        if values is not None:
            total += values.reshape([-1] + [1] * (len(shape) - number - 1))
    return total


def places(layout: Layout, shape: tuple[int, ...]) -> dict[Level, NDArray[np.int64]]:
    """All coordinates of every element of `shape` (its first copy)."""
    return {level: coordinates(layout, shape, level) for level in Level}


def place_of(layout: Layout, index: tuple[int, ...]) -> Place:
    """The place of the element at `index`, its first copy; SourceError PF0208 if the layout has no such index."""
    found = dict.fromkeys(Level, 0)
    if len(index) != len(layout.axes):
        raise SourceError("PF0208", f"index {index} does not have {len(layout.axes)} axes", where=str(layout))
    for axis, value in zip(layout.axes, index, strict=True):
        rest = value
        for sub in reversed(axis):
            rest, digit = divmod(rest, sub.size)
            found[sub.level] += digit * sub.stride
        if rest:
            raise SourceError("PF0208", f"index {index} lies outside the layout", where=str(layout))
    return Place(*(found[level] for level in Level))


def element_at(layout: Layout, shape: tuple[int, ...], place: Place) -> tuple[int, ...] | None:
    """The index of the element at `place` or of the one that `place` holds a copy of; None for padding.

    W coordinates of bits that no digit uses count as copies, whatever the element size.
    """
    values: dict[tuple[int, int], int] = {}
    for level in Level:
        coordinate = place.coordinate(level)
        if level in SPATIAL_LEVELS:
            coordinate &= used_bits(layout, level) if coordinate < level.extent else -1
        found = _decode(layout, level, coordinate)
        if found is None:
            return None
        values.update(found)
    index = tuple(_axis_index(layout, number, values) for number in range(len(layout.axes)))
    return index if all(i < size for i, size in zip(index, shape, strict=True)) else None


def _axis_index(layout: Layout, number: int, values: dict[tuple[int, int], int]) -> int:
    index = 0
    for position, sub in enumerate(layout.axes[number]):
        index = index * sub.size + values.get((number, position), 0)
    return index


def _decode(layout: Layout, level: Level, coordinate: int) -> dict[tuple[int, int], int] | None:
    """The digit values, by (axis, position), that add up to `coordinate`; None if there are none."""
    digits = [
        (sub, (number, position))
        for number, axis in enumerate(layout.axes)
        for position, sub in enumerate(axis)
        if sub.level is level and sub.size > 1
    ]
    digits.sort(key=lambda digit: -digit[0].stride)
    sizes = tuple(sub for sub, _ in digits)
    for solution in _solutions(sizes, coordinate):
        return {key: value for (_, key), value in zip(digits, solution, strict=True)}
    return None


def _solutions(digits: tuple[Subaxis, ...], coordinate: int) -> Iterator[tuple[int, ...]]:
    """All digit values that add up to `coordinate`; `digits` have descending strides, none of them 0."""
    if not digits:
        if coordinate == 0:
            yield ()
        return
    first, rest = digits[0], digits[1:]
    reach = sum((sub.size - 1) * sub.stride for sub in rest)
    lowest = max(0, -((reach - coordinate) // first.stride))
    for value in range(lowest, min(first.size - 1, coordinate // first.stride) + 1):
        for tail in _solutions(rest, coordinate - value * first.stride):
            yield (value, *tail)


def element_map(layout: Layout, shape: tuple[int, ...], bits: int) -> NDArray[np.int64]:
    """The flat index of the element at every place, copies included, and -1 for padding.

    The axes are (L2B 8, L1B 8, MAB 16, PE 4, W 64/bits, Addr, Time), the last two with the layout's extents.
    """
    sizes = [level_extent(level, bits) if level in SPATIAL_LEVELS else extent(layout, level) for level in Level]
    found = np.full(sizes, -1, dtype=np.int64)
    flat = np.arange(prod(shape), dtype=np.int64)
    copies = [copy_offsets(layout, level, bits) if level in SPATIAL_LEVELS else (0,) for level in Level]
    at = [values.reshape(-1) for values in places(layout, shape).values()]
    for offsets in np.ndindex(*(len(offset) for offset in copies)):
        shift = [offset[number] for offset, number in zip(copies, offsets, strict=True)]
        found[tuple(values + more for values, more in zip(at, shift, strict=True))] = flat
    return found
