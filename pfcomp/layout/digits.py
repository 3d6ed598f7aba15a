"""Common digits of two layouts: what a relayout has to exchange (backend-movement.md 1.1).

`refine` cuts the digits of two layouts until both use the same ones; `exchange` forgets which axis a digit belongs to,
so that all pairs of layouts which need the same data movement have the same description; `split_bits` and `bit_name`
give the places of single bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from pfcomp.layout.canonical import canonical_axis
from pfcomp.layout.model import Layout, Level, Subaxis

_LEVEL_ORDER = {level: number for number, level in enumerate(Level)}


@dataclass(frozen=True, slots=True)
class Slot:
    """Where a digit lies: value * `stride` is added to the coordinate of `level`."""

    level: Level
    stride: int


@dataclass(frozen=True, slots=True)
class Digit:
    """The digit index // `weight` % `size` of an axis, and its slots under two layouts.

    A slot is None where the layout's padded axis is too short for the digit: only the digit's value 0 exists there,
    all other values are padding of the other layout.
    """

    axis: int
    weight: int
    size: int
    source: Slot | None
    target: Slot | None


@dataclass(frozen=True, slots=True)
class Moved:
    """`size` values that lie `source` apart before and `target` apart after a relayout."""

    size: int
    source: Slot | None
    target: Slot | None


def refine(source: Layout, target: Layout) -> tuple[Digit, ...] | None:
    """The common digits of two layouts of one shape, axis by axis, slowest first.

    None if the borders of the digits of an axis do not divide each other (56 = 7 * 8 against 8 * 7): then the
    relayout is no exchange of digits.
    """
    digits: list[Digit] = []
    for axis, (before, after) in enumerate(zip(source.axes, target.axes, strict=True)):
        borders = sorted({*_borders(before), *_borders(after)})
        if any(high % low for low, high in pairwise(borders)):
            return None
        slots = _slots(before, borders), _slots(after, borders)
        rows = zip(pairwise(borders), *slots, strict=True)
        digits.extend(reversed([Digit(axis, low, high // low, one, two) for (low, high), one, two in rows]))
    return tuple(digits)


def _borders(axis: tuple[Subaxis, ...]) -> list[int]:
    """The products of the sizes of the fastest 0, 1, 2, ... digits of an axis."""
    products = [1]
    for sub in reversed(canonical_axis(axis)):
        products.append(products[-1] * sub.size)
    return products


def _slots(axis: tuple[Subaxis, ...], borders: list[int]) -> list[Slot | None]:
    """The slot of the digit above each border but the last, fastest first."""
    slots: list[Slot | None] = []
    below = 1
    for sub in reversed(canonical_axis(axis)):
        lows = [low for low in borders if below <= low < below * sub.size]
        slots.extend(Slot(sub.level, sub.stride * (low // below)) for low in lows)
        below *= sub.size
    return slots + [None] * (len(borders) - 1 - len(slots))


def exchange(digits: tuple[Digit, ...]) -> tuple[Moved, ...]:
    """The digits without their axes, ordered by source slot, neighbours that stay together in both layouts fused.

    Transposing or reshaping both layouts alike, or cutting their digits differently, does not change the result.
    """
    rows = [Moved(digit.size, digit.source, digit.target) for digit in digits]
    fused: list[Moved] = []
    for row in sorted(rows, key=_order):
        last = fused[-1] if fused else None
        if last and _continues(last.size, last.source, row.source) and _continues(last.size, last.target, row.target):
            fused[-1] = Moved(last.size * row.size, last.source, last.target)
        else:
            fused.append(row)
    return tuple(fused)


def _order(row: Moved) -> tuple[int, ...]:
    """Sort key: slots by level and stride, missing ones last."""
    key: list[int] = []
    for slot in (row.source, row.target):
        key += (len(_LEVEL_ORDER), 0) if slot is None else (_LEVEL_ORDER[slot.level], slot.stride)
    return (*key, row.size)


def _continues(size: int, fast: Slot | None, slow: Slot | None) -> bool:
    """True if `slow` is the slot right above a digit of `size` values in `fast`."""
    return fast is not None and slow is not None and slow == Slot(fast.level, fast.stride * size)


def changes(moved: tuple[Moved, ...]) -> tuple[Moved, ...]:
    """What differs between the two layouts: the rows whose slot changes."""
    return tuple(row for row in moved if row.source != row.target)


def split_bits(moved: tuple[Moved, ...]) -> tuple[Moved, ...]:
    """The rows with every power-of-two factor cut into bits, the fastest first; an odd factor stays on top."""
    rows: list[Moved] = []
    for row in moved:
        below = 1
        while row.size // below % 2 == 0:
            rows.append(Moved(2, _above(row.source, below), _above(row.target, below)))
            below *= 2
        if below < row.size:
            rows.append(Moved(row.size // below, _above(row.source, below), _above(row.target, below)))
    return tuple(rows)


def _above(slot: Slot | None, below: int) -> Slot | None:
    return slot and Slot(slot.level, slot.stride * below)


_BIT_NAMES: dict[Level, tuple[str, ...]] = {
    Level.L2B: ("C", "G0", "G1"),
    Level.L1B: ("B0", "B1", "B2"),
    Level.MAB: ("M0", "M1", "M2", "M3"),
    Level.PE: ("P0", "P1"),
}
_WORD_NAMES: dict[int, tuple[str, ...]] = {16: ("W0", "W1"), 32: ("W1",), 64: ()}


def bit_name(slot: Slot, bits: int) -> str | None:
    """The name of the place of a bit in `slot`, for elements of `bits` bits (backend-movement.md 1.1).

    G1 G0 C of L2B = 2 * group + c, B2..B0, M3..M0, P1 P0, W1 (word of the long word), W0 (half of the word); "A" for
    Addr and "T" for Time, whatever the stride. None if the stride is not a bit of the level.
    """
    if slot.level is Level.ADDR:
        return "A"
    if slot.level is Level.TIME:
        return "T"
    names = _WORD_NAMES[bits] if slot.level is Level.W else _BIT_NAMES[slot.level]
    position = slot.stride.bit_length() - 1
    return names[position] if slot.stride == 1 << position and position < len(names) else None
