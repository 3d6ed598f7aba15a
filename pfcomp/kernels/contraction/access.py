"""Operands of contractions in local memory: what one step reads of four rows or vectors, and writes of four results."""

from __future__ import annotations

from functools import lru_cache

from pfcomp.ir.model import Location
from pfcomp.isa.model import Address, Operand, Place
from pfcomp.kernels.contraction.modes import Mode
from pfcomp.kernels.operands import LM_PLACES

Four = tuple[int, int, int, int]


@lru_cache(maxsize=65536)
def _operand(place: Place, width: int, words: Four, suffix: str) -> Operand:
    a, b, c, d = words
    strided = b - a == c - b == d - c >= 0 and (b - a) % width == 0
    address = Address(a, b - a) if strided else Address(0, flat=words)
    return Operand(place, width, address, suffix=suffix)


def reads(location: Location, addresses: Four, mode: Mode, word: int | None) -> Operand:
    """The source of `mode.normalise` for four rows: one word, one long word or a pair of them at each address.

    Half modes take singles and round them on the way in.
    """
    width = 1 if word is not None else 4 if mode.paired else 2
    a, b, c, d = (2 * address + (word or 0) for address in addresses)
    return _operand(LM_PLACES[location], width, (a, b, c, d), "r" if mode.wide else "")


def writes(location: Location, addresses: Four, width: int) -> Operand:
    """Four results of `width` words."""
    a, b, c, d = (2 * address for address in addresses)
    return _operand(LM_PLACES[location], width, (a, b, c, d), "")
