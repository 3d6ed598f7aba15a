"""Digits, places and addresses as moves see them.

A value consists of *items*: single bits of an element's index, and digits of any size that only ever lie in an address.
A *place* is one bit of a spatial coordinate. A `Places` tuple names what lies in every place: an item, or COPY if both
coordinates hold the same. Items in no place lie in the address; their order there is free until a `Store` gives every
item a stride.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS, Location
from pfcomp.kernels.api import KernelContext
from pfcomp.layout import Level

COPY = -1
ANY = -2
"""In a goal only: nobody reads what lies at coordinate 1 of this place."""

PLACES: tuple[tuple[Level, int], ...] = (
    (Level.W, 0),
    *((Level.PE, bit) for bit in range(2)),
    *((Level.MAB, bit) for bit in range(4)),
    *((Level.L1B, bit) for bit in range(3)),
    *((Level.L2B, bit) for bit in range(3)),
)
"""Level and bit of every place, the fastest of each level first."""

WORD, PE, MAB, L1B, L2B = (0,), (1, 2), (3, 4, 5, 6), (7, 8, 9), (10, 11, 12)
"""The places of each level."""


Places = tuple[int, ...]
Values = NDArray[np.int64]
"""Rows of item values: [combination, item]; items that do not take part are 0."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Items of a digit that does not have all of their values: the sum of value · weight stays below `bound`."""

    items: tuple[int, ...]
    weights: tuple[int, ...]
    bound: int


@dataclass(frozen=True, eq=False, slots=True)
class Universe:
    """Size of every item, limits, and the bits of an element (32 or 64; then the word's place is not used).

    Compared by identity: it is the key of many tables, and one problem has one universe.
    """

    sizes: tuple[int, ...]
    limits: tuple[Limit, ...]
    bits: int

    def address_items(self, places: Places) -> tuple[int, ...]:
        """The items that lie in the address, ascending."""
        return tuple([i for i in range(len(self.sizes)) if i not in places])


@dataclass(frozen=True, slots=True)
class Store:
    """Local memory that holds a value: first long word, and the stride in long words of every item (0 if spatial)."""

    location: Location
    base: int
    strides: tuple[int, ...]

    def addresses(self, values: Values) -> NDArray[np.int64]:
        """The long word of every combination; one beyond the memory wraps (nothing that exists lies there)."""
        return np.asarray(self.base + values @ np.array(self.strides, np.int64), np.int64) % LM_WORDS


class Move(Protocol):
    """A change of places that the chip can do in one pass over the value."""

    @property
    def after(self) -> Places:
        """The places when it is done."""

    @property
    def steps(self) -> int:
        """Estimated steps."""

    @property
    def exact(self) -> bool:
        """True if it writes no long word that holds no combination of items; others need a target with gaps."""

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        """Emit the move; source and target do not overlap."""


def valid(universe: Universe, values: Values) -> NDArray[np.bool_]:
    """Which combinations exist."""
    found = np.ones(len(values), np.bool_)
    for limit in universe.limits:
        found &= values[:, limit.items] @ np.array(limit.weights, np.int64) < limit.bound
    return found


@lru_cache(maxsize=4096)
def combinations(universe: Universe, items: tuple[int, ...]) -> Values:
    """All values of `items` that exist, the last one fastest; an item's partners in a limit count as 0."""
    sizes = [universe.sizes[i] for i in items]
    values = np.zeros((int(np.prod(sizes, dtype=np.int64)), len(universe.sizes)), np.int64)
    if items:
        values[:, items] = np.indices(sizes).reshape(len(sizes), -1).T
    return values[valid(universe, values)]


@lru_cache(maxsize=1 << 16)
def count(universe: Universe, items: tuple[int, ...]) -> int:
    """How many combinations of `items` exist."""
    chosen = set(items)
    total = 1
    for limit in universe.limits:
        sums = [0]
        for item, weight in zip(limit.items, limit.weights, strict=True):
            if item in chosen:
                sums = [s + weight * value for s in sums for value in range(universe.sizes[item])]
                chosen.discard(item)
        total *= sum(s < limit.bound for s in sums)
    for item in items:
        if item in chosen:
            total *= universe.sizes[item]
    return total


def by_stride(items: tuple[int, ...], store: Store) -> tuple[int, ...]:
    """The items in the order of their strides, the smallest last: neighbours in memory come one after the other."""
    return tuple(sorted(items, key=lambda i: (-store.strides[i], i)))


def bit_rows(places: Places, which: tuple[int, ...], items: int) -> Values:
    """For every coordinate that the places `which` (fastest first) can take: the values of the items there."""
    rows = np.zeros((1 << len(which), items), np.int64)
    for position, place in enumerate(which):
        if places[place] >= 0:
            rows[:, places[place]] = np.arange(1 << len(which)) >> position & 1
    return rows


def labels(places: Places, which: tuple[int, ...]) -> tuple[int, ...]:
    """The items that lie in the places `which`."""
    return tuple(places[p] for p in which if places[p] >= 0)


def held(places: Places, which: tuple[int, ...]) -> Places:
    """What lies in the places `which`, copies included."""
    return tuple([places[p] for p in which])


def replaced(places: Places, changes: dict[int, int]) -> Places:
    """The places with some of them holding something else."""
    return tuple([changes.get(p, label) for p, label in enumerate(places)])
