"""The two forms between which L1Bs exchange blocks, and which element goes to which slot of them.

Before the exchange an L1B holds a block for each L1B that it sends to, afterwards one from each that sent it something.
A block has the same number of rows everywhere; a row is a long word of each lane. So what the L1Bs exchange is digits,
whatever the rearrangement is, and everything else happens inside L1Bs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod

import numpy as np

from pfcomp.layout import Layout, Level, Subaxis
from pfcomp.layout.extents import extent
from pfcomp.relayout.api import Form
from pfcomp.relayout.gather.wanted import NOBODY
from pfcomp.relayout.routing.places import ALL, LANES, OUTER, Bit, Links, Longs, Spots, bits_of, links, packed
from pfcomp.relayout.spots import Ints


class Lanes(Enum):
    """In which lanes elements are while their block is exchanged."""

    TARGET = "where they are going"
    SOURCE = "where they came from"
    ANY = "anywhere, all lanes filled alike"


@dataclass(frozen=True, eq=False, slots=True)
class Route:
    """Form `before` is filled from source elements `first` (flat, NOBODY where there is none) and exchanged to `after`.

    `last` says which slot of `after` each place of the target takes, -1 for those that must not change.
    """

    before: Form
    after: Form
    first: Longs
    last: Longs

    @property
    def words(self) -> tuple[int, int]:
        """Long words per PE before and after the exchange."""
        return extent(self.before.layout, Level.ADDR), extent(self.after.layout, Level.ADDR)


@dataclass(frozen=True, eq=False, slots=True)
class Demand:
    """What has to be moved: `places` of the target (flat), the source `elements` that they want, and all spots.

    `others` is what an index says of the other places: NOBODY, or -1 if any of them must not change.
    """

    size: int
    bits: int
    places: Longs
    elements: Longs
    source: Spots
    target: Spots
    others: int

    @staticmethod
    def of(source: Form, target: Form, index: Longs | None) -> Demand:
        """The demand of a rearrangement; see `gather_plan`."""
        size = prod(target.shape)
        wanted = np.arange(size) if index is None else index.reshape(-1)
        chosen = np.flatnonzero(wanted >= 0)
        elements = wanted[chosen]
        everything = index is None
        spots = Spots.of(source, None if everything else elements), Spots.of(target, None if everything else chosen)
        others = -1 if (wanted == -1).any() else NOBODY
        return Demand(size, source.bits, chosen, elements, *spots, others)

    @property
    def rows(self) -> int:
        """Rows of every L1B that the elements would fill if they were spread evenly."""
        return -(-len(self.places) * self.bits // (64 * (ALL + 1) ** 2))


WORTH = 1.3
"""How many more rows may be exchanged where elements stay in their lanes."""


def routes(demand: Demand) -> Iterator[Route]:
    """The routes worth planning; none if nothing leaves its L1B."""
    found = links(demand.source, demand.target)
    if found.crosses:
        made = [_Slots(demand, found, lanes) for lanes in (Lanes.ANY, Lanes.TARGET, Lanes.SOURCE)]
        yield from (slots.route() for slots in made if slots.rows <= WORTH * made[0].rows)


class _Slots:
    """The blocks, rows and lanes of all elements."""

    def __init__(self, demand: Demand, bits: Links, lanes: Lanes) -> None:
        source, target = demand.source, demand.target
        self.demand, self.links = demand, bits
        self.sent, self.received = bits_of(bits.sent), bits_of(bits.received)
        self.kept = [after for _, after in bits.pairs]
        block = packed(target.outer, self.kept) << len(self.sent) | packed(source.outer, self.sent)
        self.block = block << len(self.received) | packed(target.outer, self.received)
        masks = {Lanes.TARGET: target.lane_bits, Lanes.SOURCE: source.lane_bits, Lanes.ANY: ALL}
        self.lanes = bits_of(masks[lanes])
        self.spread = lanes is Lanes.ANY
        self.near, self.far = (source, target) if lanes is Lanes.SOURCE else (target, source)
        self.per_word = 64 // demand.bits
        self.per_row = self.per_word * (ALL + 1 if self.spread else 1)
        if self.spread:
            self.group = self.block
        else:
            self.group = self.block << len(self.lanes) | packed(self.near.lane, self.lanes)
        self.rows = max(1, -(-int(np.bincount(self.group).max(initial=0)) // self.per_row))

    def route(self) -> Route:
        demand = self.demand
        sent, received = len(self.sent), len(self.received)
        kept = [(OUTER[old], OUTER[new]) for old, new in self.links.pairs]
        before = [*(_digit(old) for old, _ in kept), *(_digit(OUTER[bit]) for bit in self.sent)]
        after = [*(_digit(new) for _, new in kept), *self._addresses(sent)]
        before += self._addresses(received)
        after += [_digit(OUTER[bit]) for bit in self.received]
        inner = [Subaxis(self.rows), *(_digit(LANES[bit]) for bit in self.lanes)]
        inner += [Subaxis(2, Level.W)] if self.per_word > 1 else []
        forms = [_form([*digits, *inner], demand.bits) for digits in (before, after)]
        order, slot = self._slots()
        first = np.full(prod(forms[0].shape), NOBODY, np.int64)
        first[slot] = demand.elements[order]
        last = np.full(demand.size, demand.others, np.int64)
        last[demand.places[order]] = slot
        return Route(forms[0], forms[1], first, last)

    def _slots(self) -> tuple[Longs, Longs]:
        """The elements in the order of their slots, and these: block, row, lane and word as one number."""
        minor = self.near.lane if self.spread else self.far.word
        order = sorted_by(self.group, self.near.word, minor)
        row, rest = np.divmod(numbered(self.group[order]), self.per_row)
        lane = rest // self.per_word if self.spread else self.group[order] & ((1 << len(self.lanes)) - 1)
        slot = (self.block[order] * self.rows + row) << len(self.lanes) | lane
        return order, slot * self.per_word + rest % self.per_word

    def _addresses(self, count: int) -> list[Subaxis]:
        """Digits that number blocks along the addresses."""
        return [Subaxis(2, Level.ADDR, self.rows << bit) for bit in reversed(range(count))]


def _digit(bit: Bit) -> Subaxis:
    return Subaxis(2, bit[0], 1 << bit[1])


def _form(digits: Sequence[Subaxis], bits: int) -> Form:
    """A value with an axis for each digit."""
    return Form(tuple(sub.size for sub in digits), bits, Layout(tuple((sub,) for sub in digits)))


def numbered(groups: Longs | Ints) -> Longs:
    """The number of every entry within its run of equal ones."""
    starts = np.flatnonzero(np.concatenate(([True], groups[1:] != groups[:-1]))) if len(groups) else groups
    lengths = np.diff(np.append(starts, len(groups)))
    numbers: Longs = np.arange(len(groups)) - np.repeat(starts, lengths)
    return numbers


def sorted_by(*keys: Ints) -> Longs:
    """The order that sorts by the first key, then the next, then by number: one sort of them all side by side."""
    count = len(keys[0])
    bits = [int(key.max(initial=0)).bit_length() for key in keys]
    number = count.bit_length()
    if sum(bits) + number > 63:
        return np.lexsort(keys[::-1])
    packed_keys = np.zeros(count, np.int64)
    for key, size in zip(keys, bits, strict=True):
        packed_keys = packed_keys << size | key
    packed_keys = packed_keys << number | np.arange(count)
    packed_keys.sort()
    order: Longs = packed_keys & (1 << number) - 1
    return order
