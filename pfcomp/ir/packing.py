"""Fits everything that one task needs into the two local memories at once, when nothing else lies there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pfcomp.ir.model import Location

LMS = (Location.LM0, Location.LM1)
VECTOR = 4
"""Places begin at multiples of so many long words."""


def in_vectors(words: int) -> int:
    """Long words of whole vectors."""
    return -(-words // VECTOR) * VECTOR


@dataclass(frozen=True, slots=True)
class Wanted:
    """Long words per PE, and the memory if it must be a certain one."""

    name: str
    words: int
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Spot:
    """A range of a local memory: address and length in long words per PE."""

    location: Location
    address: int
    words: int


def pack(wanted: Sequence[Wanted], budget: int) -> dict[str, Spot] | None:
    """Spots in two memories of `budget` long words, one behind the other; None if there is no way to divide them.

    Every sum that parts of them can have in the first memory is looked at, so a way is found if there is one.
    """
    ways: dict[int, tuple[Wanted, ...]] = {0: ()}
    total = 0
    for one in wanted:
        total += one.words
        ways = dict(_with_one(ways, one, total - budget, budget))
    if not ways:
        return None
    first = ways[min(ways, key=lambda words: abs(total - 2 * words))]
    second = tuple(one for one in wanted if one not in first)
    return {name: spot for lm, group in zip(LMS, (first, second), strict=True) for name, spot in _behind(lm, group)}


def fits(needed: Sequence[tuple[int, Location | None]], budget: int) -> bool:
    """True if places of so many long words, each in a certain memory or in any, have room in two memories."""
    if sum(words for words, _ in needed) <= budget:
        return True
    return pack([Wanted(str(k), *one) for k, one in enumerate(needed)], budget) is not None


def _with_one(
    ways: dict[int, tuple[Wanted, ...]], one: Wanted, least: int, most: int
) -> Iterable[tuple[int, tuple[Wanted, ...]]]:
    """What the first memory can hold with one more: from `least` long words, so that the second suffices, to `most`."""
    for words, group in ways.items():
        if one.location is not Location.LM0 and words >= least:
            yield words, group
    for words, group in ways.items():
        if one.location is not Location.LM1 and least <= words + one.words <= most:
            yield words + one.words, (*group, one)


def _behind(location: Location, group: Iterable[Wanted]) -> Iterable[tuple[str, Spot]]:
    address = 0
    for one in group:
        yield one.name, Spot(location, address, one.words)
        address += one.words
