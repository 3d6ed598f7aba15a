"""Layouts in which the MABs share what they would all hold (backend-kernels.md 4.1)."""

from __future__ import annotations

from collections.abc import Collection

from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent, used_bits, with_broadcast
from pfcomp.layout.model import Layout, Level, Subaxis

LEAST = 32
"""Long words per PE from which on sharing pays for the way back: bringing 16 shares together takes 2 steps and 3 more
for every 4 long words that have come."""

Place = tuple[int, int]
"""Axis and position of a digit."""


def shared(layout: Layout, axes: Collection[int], *, pairs: bool) -> Layout | None:
    """The layout with digits of `axes` dealt out from addresses to MABs, the slowest ones first.

    With `pairs` the lowest MAB bit takes the digit of neighbouring addresses if there is one: shares then come back in
    pairs of long words. None if the MABs hold different things already, or if there is too little to share.
    """
    whole = canonical(layout)
    if used_bits(whole, Level.MAB) or extent(whole, Level.ADDR) < LEAST:
        return None
    digits = [list(axis) for axis in whole.axes]
    for bit in reversed(range(1 if pairs else 0, Level.MAB.extent.bit_length() - 1)):
        if not _deal(digits, axes, bit):
            return None
    if pairs and not (_deal_pair(digits, axes) or _deal(digits, axes, 0)):
        return None
    return with_broadcast(canonical(_dense(digits)))


def _deal(digits: list[list[Subaxis]], axes: Collection[int], bit: int) -> bool:
    """Half of the slowest even address digit becomes a MAB bit; False if there is none."""
    even = [(sub.stride, axis, k) for axis, k, sub in _addresses(digits, axes) if sub.size % 2 == 0]
    if not even:
        return False
    _, axis, k = max(even)
    sub = digits[axis][k]
    digits[axis][k : k + 1] = [Subaxis(2, Level.MAB, 1 << bit), Subaxis(sub.size // 2, stride=sub.stride)]
    return True


def _deal_pair(digits: list[list[Subaxis]], axes: Collection[int]) -> bool:
    """The lowest bit of the address becomes the lowest MAB bit; False if no even digit has it."""
    for axis, k, sub in _addresses(digits, axes):
        if sub.stride == 1 and sub.size % 2 == 0:
            digits[axis][k : k + 1] = [Subaxis(sub.size // 2, stride=2), Subaxis(2, Level.MAB)]
            return True
    return False


def _addresses(digits: list[list[Subaxis]], axes: Collection[int]) -> list[tuple[int, int, Subaxis]]:
    """Axis, position and digit of the address digits of `axes`."""
    return [(axis, k, sub) for axis in sorted(axes) for k, sub in enumerate(digits[axis]) if sub.level is Level.ADDR]


def _dense(digits: list[list[Subaxis]]) -> Layout:
    """The same order of addresses without gaps."""
    stride = 1
    for _, axis, k in sorted((sub.stride, axis, k) for axis, k, sub in _addresses(digits, range(len(digits)))):
        size = digits[axis][k].size
        digits[axis][k] = Subaxis(size, stride=stride)
        stride *= size
    return Layout(tuple(map(tuple, digits)))
