"""Equality of layouts up to splitting and merging of digits."""

from __future__ import annotations

from pfcomp.layout.model import Layout, Subaxis


def canonical(layout: Layout) -> Layout:
    """The layout with the fewest digits that puts every index into the same place; `B@` entries are dropped.

    Digits of one value vanish, neighbours on one level whose strides continue each other become one digit. A `B@`
    entry only states what the digits imply, so it does not tell layouts apart.
    """
    return Layout(tuple(canonical_axis(axis) for axis in layout.axes))


def canonical_axis(axis: tuple[Subaxis, ...]) -> tuple[Subaxis, ...]:
    """The digits of one axis, merged as far as possible."""
    merged: list[Subaxis] = []
    for sub in axis:
        if sub.size == 1:
            continue
        slower = merged[-1] if merged else None
        if slower and slower.level is sub.level and slower.stride == sub.stride * sub.size:
            merged[-1] = Subaxis(slower.size * sub.size, sub.level, sub.stride)
        else:
            merged.append(sub)
    return tuple(merged)


def same(first: Layout, second: Layout) -> bool:
    """True if both layouts have the same padded shape and put every index into the same place."""
    return canonical(first) == canonical(second)


def deal(axis: tuple[Subaxis, ...], sizes: tuple[int, ...]) -> tuple[tuple[Subaxis, ...], ...] | None:
    """The digits of one axis dealt out to groups whose sizes multiply to `sizes`, cutting digits where needed.

    `sizes` are the products of the groups, slowest first, without the first group: that one takes whatever remains.
    Returns len(sizes) + 1 groups, slowest first; None if a border falls inside a digit that it does not divide.
    """
    rest = list(axis)
    groups: list[tuple[Subaxis, ...]] = []
    for size in reversed(sizes):
        group = _take(rest, size)
        if group is None:
            return None
        groups.append(group)
    return (tuple(rest), *reversed(groups))


def _take(rest: list[Subaxis], need: int) -> tuple[Subaxis, ...] | None:
    """Remove the fastest digits of product `need` from `rest`; None if that is not possible."""
    taken: list[Subaxis] = []
    while need > 1:
        if not rest:
            return None
        sub = rest.pop()
        if need % sub.size == 0:
            taken.append(sub)
            need //= sub.size
        elif sub.size % need == 0:
            taken.append(Subaxis(need, sub.level, sub.stride))
            rest.append(Subaxis(sub.size // need, sub.level, sub.stride * need))
            need = 1
        else:
            return None
    return tuple(reversed(taken))
