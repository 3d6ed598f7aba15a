"""The digits of an exchange, with the longer of two paddings where layouts pad an axis differently."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from pfcomp.layout import Layout, Level, Subaxis
from pfcomp.layout.canonical import canonical_axis
from pfcomp.layout.digits import Digit, Moved, Slot, exchange, refine

Axis = tuple[Subaxis, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A digit and, if it is part of one that is longer than the target's, the number of that and its weight there."""

    size: int
    source: Slot | None
    target: Slot | None
    bound: int | None = None
    weight: int = 1

    def factors(self) -> list[Row]:
        """The bits of the digit, the fastest first, and what remains of it if that is odd."""
        found: list[Row] = []
        below = 1
        while below < self.size:
            size = 2 if self.size // below % 2 == 0 else self.size // below
            slots = [slot and Slot(slot.level, slot.stride * below) for slot in (self.source, self.target)]
            found.append(Row(size, slots[0], slots[1], self.bound, self.weight * below))
            below *= size
        return found


@dataclass(frozen=True, slots=True)
class Exchange:
    """What has to be exchanged; `bounds` are the sizes of the target's own digits where they were extended."""

    rows: tuple[Row, ...]
    bounds: tuple[int, ...]


def exchange_of(source: Layout, target: Layout) -> Exchange | None:
    """The digits that change places; None if they cannot be matched."""
    digits = refine(source, target)
    if digits is not None:
        return Exchange(tuple(_row(moved) for moved in exchange(digits)), ())
    axes = [_matched(before, after) for before, after in zip(source.axes, target.axes, strict=True)]
    digits = refine(Layout(tuple(a[0] for a in axes)), Layout(tuple(a[1] for a in axes)))
    if digits is None:
        return None
    extended = [number for number, (_, _, bound, _) in enumerate(axes) if bound]
    rows = [
        _bounded(digit, extended.index(digit.axis), axes[digit.axis][3])
        if digit.axis in extended
        else Row(digit.size, digit.source, digit.target)
        for digit in digits
    ]
    return Exchange(tuple(rows), tuple(axes[number][2] for number in extended))


def _row(moved: Moved) -> Row:
    return Row(moved.size, moved.source, moved.target)


def _bounded(digit: Digit, bound: int, below: int) -> Row:
    if digit.weight < below:
        return Row(digit.size, digit.source, digit.target)
    return Row(digit.size, digit.source, digit.target, bound, digit.weight // below)


def _matched(before: Axis, after: Axis) -> tuple[Axis, Axis, int, int]:
    """The digits of an axis with slowest ones long enough for each other.

    Also the size of the target's slowest digit if it had to grow in the address, else 0, and the product of the sizes
    below it.
    """
    before, after = canonical_axis(before), canonical_axis(after)
    if not before or not after or refine(Layout((before,)), Layout((after,))) is not None:
        return before, after, 0, 1
    below = [prod(sub.size for sub in axis[1:]) for axis in (before, after)]
    total = -(-max(below[0] * before[0].size, below[1] * after[0].size) // max(below)) * max(below)
    longer = [_extended(axis, total, low) for axis, low in zip((before, after), below, strict=True)]
    grown = longer[1] != after and after[0].level is Level.ADDR
    return longer[0], longer[1], after[0].size if grown else 0, below[1]


def _extended(axis: Axis, total: int, below: int) -> Axis:
    """The digits with a slowest one that reaches `total`, unless it would need further bits of a level."""
    slowest, size = axis[0], total // below
    room = 1 << (slowest.size - 1).bit_length()
    if total % below or (slowest.level is not Level.ADDR and size > room):
        return axis
    return (Subaxis(size, slowest.level, slowest.stride), *axis[1:])
