"""From two layouts to items, the places before, and the places wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from pfcomp.layout import Level
from pfcomp.layout.digits import Moved, Slot, split_bits
from pfcomp.relayout.moves.model import ANY, COPY, PLACES, Limit, Places, Universe, count

PLACE_OF = {place: number for number, place in enumerate(PLACES)}


@dataclass(frozen=True)
class Problem:
    """What has to be moved: `goal` may have ANY, and `spare` items, of which only the value 0 exists, may lie there.

    The strides are those of the address items in long words, 0 for all others.
    """

    universe: Universe
    start: Places
    goal: Places
    spare: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_strides: tuple[int, ...]

    @cached_property
    def words(self) -> int:
        """Long words of the result that hold something."""
        return count(self.universe, self.universe.address_items(self.goal))


@dataclass(slots=True)
class _Draft:
    bits: int
    sizes: list[int] = field(default_factory=list)
    limits: list[Limit] = field(default_factory=list)
    start: list[int] = field(default_factory=lambda: [COPY] * len(PLACES))
    goal: list[int] = field(default_factory=lambda: [COPY] * len(PLACES))
    spare: list[int] = field(default_factory=list)
    strides: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))


class _NoExchangeError(Exception):
    """The digits do not lie on whole bits of the chip's coordinates."""


def problem_of(rows: tuple[Moved, ...], bits: int) -> Problem | None:
    """The problem of an exchange (`pfcomp.layout.digits.exchange`) of elements of 32 or 64 bits; None if it is none."""
    draft = _Draft(bits)
    if bits == 64:
        draft.goal[PLACE_OF[Level.W, 0]] = ANY
    try:
        for row in split_bits(rows):
            _add(draft, row)
    except _NoExchangeError:
        return None
    universe = Universe(tuple(draft.sizes), tuple(draft.limits), bits)
    before, after = (tuple(side) for side in draft.strides)
    return Problem(universe, tuple(draft.start), tuple(draft.goal), tuple(draft.spare), before, after)


def _add(draft: _Draft, row: Moved) -> None:
    """Take a bit, or an odd factor of a digit."""
    if row.source is None:
        if row.target is not None and row.target.level is not Level.ADDR:
            for place in _bits(row.target, row.size, draft.bits):
                draft.goal[place] = ANY
        return
    spatial = [slot for slot in (row.source, row.target) if slot is not None and slot.level is not Level.ADDR]
    if not spatial:
        if row.target is not None:
            _item(draft, row.size, row.source.stride, row.target.stride)
        return
    if any(slot.level is Level.TIME for slot in spatial):
        raise _NoExchangeError
    width = (row.size - 1).bit_length()
    items = tuple(range(len(draft.sizes), len(draft.sizes) + width))
    for bit, item in enumerate(items):
        _item(draft, 2, _stride(row.source, bit), _stride(row.target, bit))
        if row.target is None:
            draft.spare.append(item)
    for places, slot in ((draft.start, row.source), (draft.goal, row.target)):
        if slot is not None and slot.level is not Level.ADDR:
            for item, place in zip(items, _bits(slot, row.size, draft.bits), strict=True):
                _occupy(places, place, item)
    bound = 1 if row.target is None else row.size
    if bound < 1 << width:
        draft.limits.append(Limit(items, tuple(1 << bit for bit in range(width)), bound))


def _item(draft: _Draft, size: int, source: int, target: int) -> None:
    draft.sizes.append(size)
    draft.strides[0].append(source)
    draft.strides[1].append(target)


def _stride(slot: Slot | None, bit: int) -> int:
    return slot.stride << bit if slot is not None and slot.level is Level.ADDR else 0


def _bits(slot: Slot, size: int, bits: int) -> list[int]:
    """The place of every bit of a spatial digit."""
    low = slot.stride.bit_length() - 1
    found: list[int] = []
    for bit in range((size - 1).bit_length()):
        place = PLACE_OF.get((slot.level, low + bit))
        if slot.stride != 1 << low or place is None or (slot.level is Level.W and bits == 64):
            raise _NoExchangeError
        found.append(place)
    return found


def _occupy(places: list[int], place: int, item: int) -> None:
    if places[place] >= 0:
        raise _NoExchangeError
    places[place] = item
