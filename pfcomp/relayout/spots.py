"""Where every element of a value lies, as one number: its coordinates of all levels side by side.

From the lowest bit: W 1, PE 2, MAB 4, L1B 3, L2B 3, and above them the address. The numbers are sums over the axes, so
that a million of them take a few milliseconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pfcomp.layout import Level, Subaxis
from pfcomp.layout.places import axis_coordinates
from pfcomp.relayout.api import Form

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

WORDS = 2
SHIFT: dict[Level, int] = {Level.W: 0, Level.PE: 1, Level.MAB: 3, Level.L1B: 7, Level.L2B: 10, Level.ADDR: 13}
"""The lowest bit of each coordinate."""
MASK: dict[Level, int] = {
    low: (1 << SHIFT[high] - SHIFT[low]) - 1 for low, high in zip(list(SHIFT)[:-1], list(SHIFT)[1:], strict=True)
}
"""The largest coordinate of the levels below the address."""


def spots(form: Form) -> Ints:
    """The spot of every element, of its first copy, as an int32 array of the value's shape."""
    total: Ints = np.zeros((), np.int32)
    for axis, size in zip(form.layout.axes, form.shape, strict=True):
        total = np.add.outer(total, _along(axis, size).astype(np.int32))
    return total


def sampled_spots(form: Form, elements: Longs) -> Longs:
    """The spots of some elements, given by their numbers row by row; quick for a few of a large value."""
    total: Longs = np.zeros(len(elements), np.int64)
    for axis, size, index in zip(form.layout.axes, form.shape, np.unravel_index(elements, form.shape), strict=True):
        total += _along(axis, size)[index]
    return total


def _along(axis: tuple[Subaxis, ...], size: int) -> Longs:
    """What the indices of an axis add to the spots."""
    found = axis_coordinates(axis, size)
    return sum((found[level] << shift for level, shift in SHIFT.items() if level in found), np.zeros(size, np.int64))


def coordinate(spot: Ints, level: Level) -> Ints:
    """One coordinate of spots."""
    found = spot >> SHIFT[level]
    return found if level is Level.ADDR else found & MASK[level]


def distinct(numbers: Ints) -> Ints:
    """The different ones among small numbers, ascending."""
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, np.bool_)
    seen[numbers.reshape(-1)] = True
    return np.flatnonzero(seen).astype(np.int32)
