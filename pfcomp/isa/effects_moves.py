"""Which long words an MV reads and writes (isa.md 14)."""

from __future__ import annotations

from functools import lru_cache

from .effects_access import FULL_MEMBERS, Span, spans
from .effects_transfer import SpanPair
from .model import Move, Operand, Place
from .movetext import move_form_of
from .tables_moves import DRAM_UNIT, base_place
from .tables_places import PLACES


@lru_cache(maxsize=1 << 14)
def move_spans(move: Move) -> SpanPair:
    """The spans that `move` reads and writes, over the whole of its run time.

    Operands that fit no form of the mode count as touching `size` long words of every instance.
    """
    form = move_form_of(move)
    source = -(-move.size // (form.share_source if form else 1))
    destination = -(-move.size // (form.share_destination if form else 1))
    entries = _dar_spans(move.source, source, move) + _dar_spans(move.destination, destination, move)
    return _side(move.source, source) + entries, _side(move.destination, destination)


def _side(operand: Operand, count: int) -> tuple[Span, ...]:
    place = base_place(operand.place)
    if place not in FULL_MEMBERS:
        return ()
    if operand.place is Place.DRAM_INDIRECT:  # any address of those groups
        return spans(place, 0, PLACES[place].size, _members(operand))
    return spans(place, operand.address.base if operand.address else 0, count, _members(operand))


def _members(operand: Operand) -> int:
    """Bits of the instances: groups for DRAM and PDM, L2Bs (2·group + c) for L2BM."""
    if base_place(operand.place) is not Place.L2BM:
        return FULL_MEMBERS[Place.DRAM] if operand.group is None else 1 << operand.group
    groups = range(4) if operand.group is None else (operand.group,)
    halves = range(2) if operand.l2b is None else (operand.l2b,)
    return sum(1 << 2 * g + c for g in groups for c in halves)


def _dar_spans(operand: Operand, count: int, move: Move) -> tuple[Span, ...]:
    if operand.place is not Place.DRAM_INDIRECT:
        return ()
    blocks = -(-count // DRAM_UNIT)
    entries = -(-blocks // (move.run or 1))
    return spans(Place.DAR, operand.address.base if operand.address else 0, entries, _members(operand))
