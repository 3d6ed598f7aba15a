"""From two layouts to items, the places before, and the places wanted."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from pfcomp.layout import Level
from pfcomp.layout.digits import Slot
from pfcomp.relayout.moves.model import ANY, COPY, PLACES, Limit, Places, Universe, count
from pfcomp.relayout.moves.rows import Exchange, Row

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
    bounded: list[list[tuple[int, int]]] = field(default_factory=list)


class _NoExchangeError(Exception):
    """The digits do not lie on whole bits of the chip's coordinates."""


def problem_of(exchange: Exchange, bits: int) -> Problem | None:
    """The problem of an exchange of elements of 32 or 64 bits; None if a digit does not lie on whole bits."""
    draft = _Draft(bits, bounded=[[] for _ in exchange.bounds])
    if bits == 64:
        draft.goal[PLACE_OF[Level.W, 0]] = ANY
    try:
        for row in exchange.rows:
            for factor in row.factors():
                _add(draft, factor)
    except _NoExchangeError:
        return None
    for bound, members in zip(exchange.bounds, draft.bounded, strict=True):
        items, weights = zip(*members, strict=True)
        draft.limits.append(Limit(items, weights, bound))
    universe = Universe(tuple(draft.sizes), tuple(draft.limits), bits)
    before, after = (tuple(side) for side in draft.strides)
    return Problem(universe, tuple(draft.start), tuple(draft.goal), tuple(draft.spare), before, after)


def _add(draft: _Draft, row: Row) -> None:
    """Take a bit, or an odd factor of a digit."""
    if row.source is None:
        if row.target is not None and row.target.level is not Level.ADDR:
            for place in _bits(row.target, row.size, draft.bits):
                draft.goal[place] = ANY
        return
    spatial = [slot for slot in (row.source, row.target) if slot is not None and slot.level is not Level.ADDR]
    if any(slot.level is Level.TIME for slot in spatial):
        raise _NoExchangeError
    if spatial:
        _add_bits(draft, row, row.source)
    elif row.target is not None:
        _item(draft, row, row.size, 0)


def _add_bits(draft: _Draft, row: Row, source: Slot) -> None:
    """Take a factor that is spatial before or after, bit by bit."""
    width = (row.size - 1).bit_length()
    items = tuple(_item(draft, row, 2, bit) for bit in range(width))
    if row.target is None:
        draft.spare.extend(items)
    for places, slot in ((draft.start, source), (draft.goal, row.target)):
        if slot is not None and slot.level is not Level.ADDR:
            for item, place in zip(items, _bits(slot, row.size, draft.bits), strict=True):
                _occupy(places, place, item)
    bound = 1 if row.target is None else row.size
    if bound < 1 << width:
        draft.limits.append(Limit(items, tuple(1 << bit for bit in range(width)), bound))


def _item(draft: _Draft, row: Row, size: int, bit: int) -> int:
    """Number of a new item: the row's factor, or one bit of it."""
    item = len(draft.sizes)
    draft.sizes.append(size)
    draft.strides[0].append(_stride(row.source, bit))
    draft.strides[1].append(_stride(row.target, bit))
    if row.bound is not None:
        draft.bounded[row.bound].append((item, row.weight << bit))
    return item


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
