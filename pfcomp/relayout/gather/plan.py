"""The plan of a gather: a feed, what goes straight to the target, and the windows with their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pfcomp.ir.model import Location, MNValue
from pfcomp.kernels.api import KernelContext, Scratch, Table
from pfcomp.layout import Level
from pfcomp.relayout.gather.collect import Collector
from pfcomp.relayout.gather.deliveries import TO_ALL, TO_MABS, TO_OWN, ImageFeed
from pfcomp.relayout.gather.direct import widened
from pfcomp.relayout.gather.feeds import Feed, LocalFeed, TurnFeed
from pfcomp.relayout.gather.image import choose_image
from pfcomp.relayout.gather.items import Items, long_words
from pfcomp.relayout.gather.passes import Division, Kind, Passes, Straight, blocks_of
from pfcomp.relayout.gather.tables import CYCLES, table_of
from pfcomp.relayout.gather.wanted import Origin, Wanted, crossings, source_words
from pfcomp.relayout.spots import WORDS, Ints, coordinate

WINDOW = 512
"""Long words of the largest window."""
OBJECT = 100
"""Bytes of a small object in Python, about."""
LOAD_STEPS = 2
"""Steps that a new vector of T takes before the gather that uses it."""


@dataclass(frozen=True, eq=False)
class GatherPlan:
    """See `pfcomp.relayout.api.MovePlan`. Windows and tables are made when somebody asks for them.

    They are not counted in `bytes`: only plans that become part of a program have them.
    """

    draft: Draft
    window: int
    kind: Kind
    steps: int
    gathers: int
    """Vectors that are taken from windows."""
    table_words: tuple[int, ...]

    @property
    def scratch(self) -> tuple[Scratch, ...]:
        """The largest window, in LM0."""
        size = len(self.draft.feed.grain.places)
        largest = size * min(len(self.draft.blocks), self.window // size)
        return (Scratch(-(-largest // 4) * 4, Location.LM0),) if largest else ()

    @property
    def bytes(self) -> int:
        return self.draft.bytes + OBJECT * len(self.draft.direct)

    @cached_property
    def _passes(self) -> Passes:
        return self.draft.divided(self.window).passes(self.kind)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        found = self._passes.table
        return () if found is None else (table_of(self.draft.cells, self.draft.used, found),)

    def emit(
        self,
        context: KernelContext,
        source: MNValue,
        target: MNValue,
        scratch: Sequence[MNValue],
        tables: Sequence[MNValue],
    ) -> None:
        """Feed what goes straight, then window after window."""
        session = self.draft.feed.open(context, source, target, self.draft.direct)
        collector = Collector(context, target, tables[0] if tables else None)
        for one in self._passes.passes:
            location, address = session.window(one.blocks, scratch[0] if scratch else None)
            collector.collect(location, address, one.gathers)
        session.finish()


@dataclass(frozen=True, eq=False, slots=True)
class Draft:
    """A gather before its windows: the feed and its steps, what goes straight to the target, and all other items.

    `blocks` are those of the units that the items want; `cells` and `used` are those of the target (see `Wanted`).
    """

    cells: tuple[Ints, ...]
    used: tuple[int, ...]
    feed: Feed
    direct: tuple[Straight, ...]
    items: tuple[Items, Items]
    blocks: Ints
    fed: int

    @property
    def least(self) -> int:
        """Steps that every plan takes, whatever its windows are."""
        return self.fed + sum(-(-len(items) // CYCLES) for items in self.items)

    @property
    def bytes(self) -> int:
        return sum(items.wanted.nbytes for items in self.items)

    def divided(self, window: int) -> Division:
        """The items divided over windows of at most `window` long words."""
        return Division(self.items, self.blocks, self.feed.grain, window)

    def plan(self, window: int = WINDOW, *, tagged: bool = False) -> GatherPlan:
        """The plan with windows of at most `window` long words; see `Division.count`."""
        count, kind = self.divided(window).count(tagged=tagged)
        steps = self.fed + count.gathers + LOAD_STEPS * count.loads
        return GatherPlan(self, window, kind, steps, count.gathers, (count.table,) if count.table else ())


def draft(wanted: Wanted, origin: Origin) -> Draft:
    """The draft with the feed that suits the levels that are crossed."""
    crossed = crossings(wanted, origin)
    if crossed == (False, False, False, True):
        wanted = wanted.with_all_pes()
    feed, units = _feed(wanted, origin, crossed)
    whole, single = long_words(source_words(wanted, origin, units))
    straight, whole = _divide(whole)
    alone, single = _divide(single) if feed.inside else ([], single)
    direct = tuple(sorted((*straight, *alone), key=lambda item: (-item.width, item.source, item.target)))
    if feed.inside:
        direct = tuple(widened(direct))
    blocks = blocks_of((whole, single), feed.grain)
    return Draft(wanted.cells, wanted.used, feed, direct, (whole, single), blocks, feed.steps(direct, blocks))


def _divide(items: Items) -> tuple[list[Straight], Items]:
    """What is the same for all cells, and the rest."""
    uniform = items.uniform()
    chosen = items.take(uniform)
    pairs = zip(chosen.target.tolist(), chosen.common().tolist(), strict=True)
    return [Straight(items.width, target, source) for target, source in pairs], items.take(~uniform)


def _feed(wanted: Wanted, origin: Origin, crossed: tuple[bool, ...]) -> tuple[Feed, Ints]:
    """The feed, and 2·unit + word for the unit that every place of the target wants."""
    spot = np.maximum(wanted.spot, 0)
    own = WORDS * coordinate(spot, Level.ADDR) + coordinate(spot, Level.W)
    if not any(crossed):
        return LocalFeed(), own
    if crossed == (False, False, False, True):
        span = -(-(int(own.max()) // WORDS + 1) // 4) * 4
        turn = (wanted.cell(3) - coordinate(spot, Level.PE)) % 4
        return TurnFeed(span), WORDS * span * turn + own
    delivery = TO_ALL if crossed[3] else TO_MABS if crossed[2] or not origin.used[2] else TO_OWN
    image = choose_image(wanted.needed, origin.used, crossed, rows=delivery is TO_OWN)
    return ImageFeed(image, delivery), image.words_of(spot, delivery.unit)
