"""The layout verifier: everything that must hold before a layout is used, as typed errors PF0202 to PF0206."""

from __future__ import annotations

from math import prod

import numpy as np

from pfcomp.errors import SourceError
from pfcomp.layout.extents import digits_of, extent, level_extent, padded_shape, used_bits
from pfcomp.layout.model import SPATIAL_LEVELS, Broadcast, Layout, Level, Subaxis

ELEMENT_BITS = (16, 32, 64)
_MAX_ENUMERATED = 1 << 20


def verify(layout: Layout, shape: tuple[int, ...], bits: int) -> None:
    """Raise SourceError unless `layout` gives every element of `shape`, of `bits` bits, a place of its own.

    PF0202 rank or size differs from the shape, PF0203 size or stride out of range, PF0204 coordinate beyond its
    level, PF0205 two indices (padding included) in one place, PF0206 `B@` names coordinates that are in use.
    """
    if bits not in ELEMENT_BITS:
        raise SourceError("PF0204", f"elements of {bits} bits do not fit long words", where=str(layout))
    _verify_numbers(layout)
    _verify_shape(layout, shape)
    for level in Level:
        _verify_level(layout, level, bits)
    for entry in layout.broadcast:
        _verify_broadcast(layout, entry)


def _verify_numbers(layout: Layout) -> None:
    for axis in layout.axes:
        for sub in axis:
            if sub.size < 1 or sub.stride < 0:
                raise SourceError("PF0203", f"subaxis {sub} needs a size of 1 or more", where=str(layout))


def _verify_shape(layout: Layout, shape: tuple[int, ...]) -> None:
    if len(shape) != len(layout.axes):
        raise SourceError(
            "PF0202", f"the layout has {len(layout.axes)} axes, the shape {shape} has {len(shape)}", where=str(layout)
        )
    for axis, (size, padded) in enumerate(zip(shape, padded_shape(layout), strict=True)):
        if not 1 <= size <= padded:
            raise SourceError(
                "PF0202", f"axis {axis} of {size} elements does not fit the layout's {padded}", where=str(layout)
            )


def _verify_level(layout: Layout, level: Level, bits: int) -> None:
    limit = level_extent(level, bits)
    if extent(layout, level) > limit:
        raise SourceError(
            "PF0204",
            f"coordinate {extent(layout, level) - 1} of {level} exceeds {limit - 1} ({bits}-bit elements)",
            where=str(layout),
        )
    if not distinct(digits_of(layout, level)):
        raise SourceError("PF0205", f"several indices share a coordinate of {level}", where=str(layout))


def distinct(digits: tuple[Subaxis, ...]) -> bool:
    """True if different values of the digits always add up to different coordinates.

    Digits that do not nest and have more than 2**20 combinations count as not distinct.
    """
    reach = 0
    for sub in sorted(digits, key=lambda sub: sub.stride):
        if sub.stride <= reach:
            return _distinct_by_counting(digits)
        reach += (sub.size - 1) * sub.stride
    return True


def _distinct_by_counting(digits: tuple[Subaxis, ...]) -> bool:
    count = prod(sub.size for sub in digits)
    if count > _MAX_ENUMERATED:
        return False
    sums = np.zeros(1, dtype=np.int64)
    for sub in digits:
        sums = np.add.outer(sums, np.arange(sub.size, dtype=np.int64) * sub.stride).reshape(-1)
    return len(np.unique(sums)) == count


def dense(layout: Layout) -> bool:
    """True if, level by level, every coordinate below the extent is taken by exactly one combination of digits."""
    return all(
        prod(sub.size for sub in digits_of(layout, level)) == extent(layout, level)
        and distinct(digits_of(layout, level))
        for level in Level
    )


def _verify_broadcast(layout: Layout, entry: Broadcast) -> None:
    if entry.level not in SPATIAL_LEVELS:
        raise SourceError("PF0206", f"{entry.level} cannot hold copies", where=str(layout))
    if entry.size is None:
        copies = entry.level.extent - 1
    else:
        if entry.size < 1 or not 0 <= (entry.size - 1) * entry.stride < entry.level.extent:
            raise SourceError("PF0206", f"B@[{entry}] exceeds the level", where=str(layout))
        copies = 0
        for digit in range(entry.size if entry.stride else 1):
            copies |= digit * entry.stride
    if copies & used_bits(layout, entry.level):
        raise SourceError("PF0206", f"B@[{entry}] names coordinates that hold different elements", where=str(layout))
