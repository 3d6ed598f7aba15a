"""The plan of a gather: a feed, what goes straight to the target, and the windows with their table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pfcomp.ir.model import Location, MNValue
from pfcomp.kernels.api import KernelContext, Scratch, Table
from pfcomp.relayout.gather.collect import Collector
from pfcomp.relayout.gather.deliveries import TO_ALL, TO_MABS, TO_OWN, ImageFeed
from pfcomp.relayout.gather.direct import widened
from pfcomp.relayout.gather.feeds import Feed, LocalFeed, TurnFeed
from pfcomp.relayout.gather.image import choose_image
from pfcomp.relayout.gather.items import Items, long_words
from pfcomp.relayout.gather.passes import Pass, Straight, plan_passes
from pfcomp.relayout.gather.tables import table_of
from pfcomp.relayout.gather.wanted import Ints, Origin, Wanted, crossings, source_words

WINDOW = 512
"""Long words of the largest window."""
OBJECT = 100
"""Bytes of a small object in Python, about."""
LOAD_STEPS = 2
"""Steps that a new vector of T takes before the gather that uses it."""


@dataclass(frozen=True, eq=False, slots=True)
class GatherPlan:
    """See `pfcomp.relayout.api.MovePlan`."""

    feed: Feed
    direct: tuple[Straight, ...]
    passes: tuple[Pass, ...]
    tables: tuple[Table, ...]
    steps: int

    @property
    def scratch(self) -> tuple[Scratch, ...]:
        """The largest window, in LM0."""
        size = len(self.feed.grain.places)
        largest = max((len(one.blocks) for one in self.passes), default=0)
        return (Scratch(-(-largest * size // 4) * 4, Location.LM0),) if largest else ()

    @property
    def bytes(self) -> int:
        return sum(table.contents.nbytes for table in self.tables) + OBJECT * (len(self.direct) + 3 * self.gathers)

    @property
    def gathers(self) -> int:
        """How many vectors are taken from windows."""
        return sum(len(one.gathers) for one in self.passes)

    def emit(
        self,
        context: KernelContext,
        source: MNValue,
        target: MNValue,
        scratch: Sequence[MNValue],
        tables: Sequence[MNValue],
    ) -> None:
        """Feed what goes straight, then window after window."""
        session = self.feed.open(context, source, target, self.direct)
        collector = Collector(context, target, tables[0] if tables else None)
        for one in self.passes:
            location, address = session.window(one.blocks, scratch[0] if scratch else None)
            collector.collect(location, address, one.gathers)
        session.finish()


@dataclass(frozen=True, eq=False, slots=True)
class Draft:
    """A gather before its windows: what is wanted, the feed, what goes straight to the target, and all other items."""

    wanted: Wanted
    feed: Feed
    direct: tuple[Straight, ...]
    items: tuple[Items, Items]

    def plan(self, window: int = WINDOW, *, tagged: bool = False) -> GatherPlan:
        """The plan with windows of at most `window` long words; see `plan_passes`."""
        found = plan_passes(self.items, self.feed.grain, window, tagged=tagged)
        tables = () if found.table is None else (table_of(self.wanted, found.table),)
        collecting = sum(len(one.gathers) for one in found.passes) + LOAD_STEPS * found.loads
        steps = self.feed.steps(self.direct, [one.blocks for one in found.passes]) + collecting
        return GatherPlan(self.feed, self.direct, found.passes, tables, steps)


def draft(wanted: Wanted, origin: Origin) -> Draft:
    """The draft with the feed that suits the levels that are crossed."""
    crossed = crossings(wanted, origin)
    if crossed == (False, False, False, True):
        wanted = wanted.with_all_pes()
    feed, unit = _feed(wanted, origin, crossed)
    whole, single = long_words(source_words(wanted, origin, unit))
    straight, whole = _divide(whole)
    alone, single = _divide(single) if feed.inside else ([], single)
    direct = tuple(sorted((*straight, *alone), key=lambda item: (-item.width, item.source, item.target)))
    if feed.inside:
        direct = tuple(widened(direct))
    return Draft(wanted, feed, direct, (whole, single))


def _divide(items: Items) -> tuple[list[Straight], Items]:
    """What is the same for all cells, and the rest."""
    uniform = items.uniform()
    chosen = items.take(uniform)
    pairs = zip(chosen.target.tolist(), chosen.common().tolist(), strict=True)
    return [Straight(items.width, target, source) for target, source in pairs], items.take(~uniform)


def _feed(wanted: Wanted, origin: Origin, crossed: tuple[bool, ...]) -> tuple[Feed, Ints]:
    """The feed, and the unit that every place of the target wants."""
    element = np.maximum(wanted.element, 0)
    if not any(crossed):
        return LocalFeed(), origin.address[element]
    needed = wanted.element[wanted.element >= 0]
    if crossed == (False, False, False, True):
        span = -(-(int(origin.address[needed].max()) + 1) // 4) * 4
        turn = (wanted.cell(3) - origin.at[3][element]) % 4
        return TurnFeed(span), span * turn + origin.address[element]
    delivery = TO_ALL if crossed[3] else TO_MABS if crossed[2] or not origin.used[2] else TO_OWN
    image = choose_image(origin, needed, crossed, rows=delivery is TO_OWN)
    return ImageFeed(image, delivery), (image.positions(origin) // delivery.unit)[element]
