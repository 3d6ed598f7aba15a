"""Layouts that suit a reduction, for operands that exist in none yet."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.ir.model import LM_WORDS
from pfcomp.layout import Layout, Level, Subaxis
from pfcomp.layout.extents import extent, level_extent

_INNER = (Level.W, Level.PE, Level.MAB, Level.L1B, Level.L2B)


def suggested(shape: tuple[int, ...], axes: tuple[int, ...], bits: int) -> list[Layout]:
    """Reduced axes in Addr, or in places that the others leave, or innermost; layouts that local memory can hold."""
    others = [axis for axis in range(len(shape)) if axis not in axes]
    plans = (
        [(others[::-1], _INNER)],
        [([*others[::-1], *axes[::-1]], _INNER)],
        [(list(axes[::-1]), _INNER[:2]), (others[::-1], _INNER[2:])],
        [(list(axes[::-1]), _INNER[:3]), (others[::-1], _INNER[3:])],
    )
    layouts = [spread(shape, plan, bits) for plan in plans]
    fitting = [layout for layout in layouts if extent(layout, Level.ADDR) <= LM_WORDS]
    return [layout for place, layout in enumerate(fitting) if layout not in fitting[:place]]


def spread(shape: tuple[int, ...], plan: Sequence[tuple[list[int], Sequence[Level]]], bits: int) -> Layout:
    """Lay the axes of each part of the plan over its levels, fastest first; what does not fit goes to Addr."""
    digits: list[list[Subaxis]] = [[] for _ in shape]
    rest = list(shape)
    for axes, levels in plan:
        room = {level: level_extent(level, bits) for level in levels}
        for axis in axes:
            for level in levels:
                size = min(room[level], 1 << (rest[axis] - 1).bit_length())
                if size > 1:
                    digits[axis].insert(0, Subaxis(size, level, level_extent(level, bits) // room[level]))
                    room[level] //= size
                    rest[axis] = -(-rest[axis] // size)
    stride = 1
    for axis in reversed(range(len(shape))):
        if rest[axis] > 1:
            digits[axis].insert(0, Subaxis(rest[axis], Level.ADDR, stride))
            stride *= rest[axis]
    return Layout(tuple(map(tuple, digits)))
