"""Scratch that moves share which run one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TypeVar

from pfcomp.ir.model import Location
from pfcomp.kernels.api import Scratch

Place = TypeVar("Place")


def shared_scratch(groups: Iterable[Sequence[Scratch]]) -> tuple[Scratch, ...]:
    """What moves need that take turns, given the scratch of each: by memory, and there the largest piece first."""
    most: dict[Location | None, list[int]] = {}
    for group in groups:
        for location, order in _by_memory(group).items():
            pairs = zip_longest(most.get(location, ()), (group[number].words for number in order), fillvalue=0)
            most[location] = [max(pair) for pair in pairs]
    return tuple(Scratch(words, location) for location, sizes in most.items() for words in sizes)


def share_of(group: Sequence[Scratch], shared: Sequence[Scratch], places: Sequence[Place]) -> list[Place]:
    """The places for one move's scratch, in its order, of the `places` of the shared scratch."""
    free: dict[Location | None, list[Place]] = {}
    for one, place in zip(shared, places, strict=True):
        free.setdefault(one.location, []).append(place)
    taken = {
        number: free[location][k] for location, order in _by_memory(group).items() for k, number in enumerate(order)
    }
    return [taken[number] for number in range(len(group))]


def _by_memory(group: Sequence[Scratch]) -> dict[Location | None, list[int]]:
    """The numbers of a move's pieces of scratch by memory, the largest first."""
    found: dict[Location | None, list[int]] = {}
    for number, one in enumerate(group):
        found.setdefault(one.location, []).append(number)
    return {location: sorted(order, key=lambda k: -group[k].words) for location, order in found.items()}
