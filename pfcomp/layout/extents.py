"""Sizes that follow from a layout alone: padded shape, extents, used coordinate bits, copies (backend-movement.md 1.2).

The functions expect layouts that `pfcomp.layout.verify` accepts.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from pfcomp.layout.model import Broadcast, Layout, Level, Subaxis

_COPY_ORDER = (Level.PE, Level.MAB, Level.L1B, Level.L2B, Level.W)
"""Order of the levels in a written `B@[...]` (mlsdk.md 4.4)."""


def padded_shape(layout: Layout) -> tuple[int, ...]:
    """The product of the sizes of each axis."""
    return tuple(prod(sub.size for sub in axis) for axis in layout.axes)


def padding(layout: Layout, shape: tuple[int, ...]) -> tuple[int, ...]:
    """How many indices of each axis lie beyond `shape`."""
    return tuple(padded - size for padded, size in zip(padded_shape(layout), shape, strict=True))


def digits_of(layout: Layout, level: Level) -> tuple[Subaxis, ...]:
    """All subaxes of `level` with more than one value, in the order of the axes."""
    return tuple(sub for axis in layout.axes for sub in axis if sub.level is level and sub.size > 1)


@lru_cache(maxsize=4096)
def extent(layout: Layout, level: Level) -> int:
    """One more than the largest coordinate that `level` takes, padding included."""
    return 1 + sum((sub.size - 1) * sub.stride for sub in digits_of(layout, level))


def extents(layout: Layout) -> dict[Level, int]:
    """The extent of every level."""
    return {level: extent(layout, level) for level in Level}


def level_extent(level: Level, bits: int) -> int:
    """How many coordinates `level` has for elements of `bits` bits: W counts elements in a long word."""
    return 64 // bits if level is Level.W else level.extent


@lru_cache(maxsize=4096)
def used_bits(layout: Layout, level: Level) -> int:
    """The bits that are set in any coordinate of a spatial level; all other bits hold copies."""
    values = {0}
    for sub in digits_of(layout, level):
        values = {value + digit * sub.stride for value in values for digit in range(sub.size)}
    used = 0
    for value in values:
        used |= value
    return used


def free_bits(layout: Layout, level: Level, bits: int = 16) -> int:
    """The bits of a spatial level's coordinate (for elements of `bits` bits) that no digit uses: they hold copies."""
    return (level_extent(level, bits) - 1) & ~used_bits(layout, level)


def copy_offsets(layout: Layout, level: Level, bits: int = 16) -> tuple[int, ...]:
    """What may be added to a coordinate of `level` to reach the other copies, ascending; (0,) if there are none."""
    free = free_bits(layout, level, bits)
    return tuple(value for value in range(free + 1) if value & ~free == 0)


def copy_levels(layout: Layout, bits: int = 16) -> tuple[Level, ...]:
    """The spatial levels that hold copies in at least one coordinate bit, in the order of a written `B@[...]`."""
    return tuple(level for level in _COPY_ORDER if free_bits(layout, level, bits))


def with_broadcast(layout: Layout, levels: tuple[Level, ...] = _COPY_ORDER[1:4]) -> Layout:
    """The same layout with `B@[...]` naming the copies of `levels` (default MAB, L1B, L2B) exactly."""
    entries: list[Broadcast] = []
    for level in levels:
        free = free_bits(layout, level)
        if free == level.extent - 1:
            entries.append(Broadcast(level))
        else:
            entries.extend(Broadcast(level, size, stride) for size, stride in _bit_runs(free))
    return Layout(layout.axes, tuple(entries))


def _bit_runs(mask: int) -> list[tuple[int, int]]:
    """The runs of ones in `mask` as (2 ** length, 2 ** position), lowest first."""
    runs: list[tuple[int, int]] = []
    while mask:
        stride = mask & -mask
        size = 1
        while mask & (stride * size):
            size *= 2
        runs.append((size, stride))
        mask &= ~(stride * (size - 1))
    return runs
