"""Operands for kernels: long words of local memory, of L1BM and of L2BM."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pfcomp.ir.model import Location
from pfcomp.isa.model import Address, MaskRef, Operand, Place

LM_PLACES = {Location.LM0: Place.LM0, Location.LM1: Place.LM1}
WORDS = 2
"""Words in a long word; PE memories are addressed in words."""


@lru_cache(maxsize=65536)
def _vector(place: Place, words: tuple[int, int, int, int], width: int) -> Operand:
    a, b, c, d = words
    if b - a == c - b == d - c >= 0:
        return Operand(place, width, Address(a, b - a))
    return Operand(place, width, Address(0, flat=words))


def vector(location: Location, addresses: Sequence[int]) -> Operand:
    """Four long words of a local memory, one for each cycle; a short list repeats its last address."""
    padded = (*addresses, *[addresses[-1]] * (4 - len(addresses)))
    a, b, c, d = (WORDS * address for address in padded)
    return _vector(LM_PLACES[location], (a, b, c, d), WORDS)


def words(location: Location, addresses: Sequence[int], width: int, mask: int | None = None) -> Operand:
    """Four places of `width` words at word addresses, one for each cycle; a short list repeats its last address."""
    a, b, c, d = (*addresses, *[addresses[-1]] * (4 - len(addresses)))
    even = b - a == c - b == d - c >= 0 and (b - a) % width == 0
    address = Address(a, b - a) if even else Address(0, flat=(a, b, c, d))
    return Operand(LM_PLACES[location], width, address, mask=None if mask is None else MaskRef(mask))


def run(location: Location, address: int) -> Operand:
    """Four consecutive long words from `address`."""
    return vector(location, range(address, address + 4))


def pairs(location: Location, address: int) -> Operand:
    """Eight consecutive long words from an even `address`, two for each cycle."""
    start = WORDS * address
    return _vector(LM_PLACES[location], (start, start + 4, start + 8, start + 12), 2 * WORDS)


def gathered(address: int) -> Operand:
    """Four long words of LM0, four apart, from where T points to: PE p of a MAB reads `address` + 4·cycle + T."""
    return Operand(Place.LM0, WORDS, Address(WORDS * address, 4 * WORDS, indirect=True))


def l1bm(address: int, *, double: bool = False) -> Operand:
    """`$lb<address>` or `$llb<address>`."""
    return Operand(Place.L1BM, 2 * WORDS if double else WORDS, Address(address))


def l2bm(address: int) -> Operand:
    """`$lc<address>` of an L2BM operation."""
    return Operand(Place.L2BM, WORDS, Address(address))


def l2bm_of(address: int, l2b: int | None) -> Operand:
    """`$lc<address>@.<l2b>` of an MV: that L2BM of every group, or all of them for None."""
    return Operand(Place.L2BM, WORDS, Address(address), l2b=l2b)


def dram(address: int) -> Operand:
    """`$d<address>` of an MV that every group does for itself."""
    return Operand(Place.DRAM, WORDS, Address(address))
