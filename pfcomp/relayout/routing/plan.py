"""Plans for routes: sort inside the L1Bs, exchange digits, sort inside the L1Bs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod

import numpy as np

from pfcomp.ir.model import LM_WORDS
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form
from pfcomp.relayout.chain import ChainPlan
from pfcomp.relayout.exchange import exchange_plan
from pfcomp.relayout.gather import Draft, GatherPlan, gather_draft
from pfcomp.relayout.room import fits, spare_words
from pfcomp.relayout.routing.dealing import deal
from pfcomp.relayout.routing.places import Longs
from pfcomp.relayout.routing.route import Demand, Route, routes
from pfcomp.relayout.routing.staged import Leg, StagedPlan, Value
from pfcomp.relayout.spots import coordinate, spots

WINDOWS = (512, 128, 32)
"""Sizes of the windows of gathers that are tried."""
PARTS, DEALT_PARTS = (2, 4, 8), (1,)
"""Into how many parts a rearrangement is divided where it has no room as a whole; it needs all their tables at once."""
UNEVEN = 2.5
"""How many rows an exchange may have for each that it needed if all blocks were full, before elements are dealt."""
HOPELESS = 2 * UNEVEN
"""How many rows there may be for each before parts are not tried either."""
KEPT = -1
"""In an index: this place must not change."""

Way = Callable[[Form, Form, Longs, int, int], "StagedPlan | None"]
"""Plans a rearrangement by source, target, index, room, and limit of steps."""


def routed_plan(
    source: Form, target: Form, index: Longs | None, room: int = LM_WORDS, limit: int = 1 << 30
) -> ChainPlan | StagedPlan | None:
    """The cheapest plan that fits memories of `room` long words and takes less than `limit` steps.

    None if there is none, or if nothing leaves its L1B. What one route cannot do two routes over a form in between may,
    and what has no room as a whole may have it in parts.
    """
    demand = Demand.of(source, target, index)
    ways = list(routes(demand))
    if not ways:
        return None
    best: ChainPlan | StagedPlan | None = _cheapest(ways, source, target, demand, room, limit)
    uneven = min(way.words[0] for way in ways) / max(1, demand.rows)
    if uneven > UNEVEN:
        most = best.steps if best else limit
        best = _in_parts(_dealt, DEALT_PARTS, source, target, index, room, most) or best
    return best or (_in_parts(_direct, PARTS, source, target, index, room, limit) if uneven < HOPELESS else None)


def _cheapest(
    ways: Iterable[Route], source: Form, target: Form, demand: Demand, room: int, limit: int
) -> ChainPlan | None:
    spare = 0 if demand.others == KEPT else extent(target.layout, Level.ADDR)
    best: ChainPlan | None = None
    for route in ways:
        plan = _plan(route, source, target, route.words[0] <= spare, room, limit)
        if plan is not None:
            best, limit = plan, plan.steps
    return best


def _once(source: Form, target: Form, index: Longs, room: int, limit: int) -> ChainPlan | None:
    """The cheapest single route."""
    demand = Demand.of(source, target, index)
    return _cheapest(routes(demand), source, target, demand, room, limit)


def _direct(source: Form, target: Form, index: Longs, room: int, limit: int) -> StagedPlan | None:
    plan = _once(source, target, index, room, limit)
    return None if plan is None else StagedPlan((Leg(plan, Value.SOURCE, Value.TARGET),))


def _dealt(source: Form, target: Form, index: Longs, room: int, limit: int) -> StagedPlan | None:
    """Two routes, over a form in between."""
    middle = deal(Demand.of(source, target, index))
    if not fits(StagedPlan((), 3 * middle.words), source, target, room):  # with what a route exchanges
        return None
    out = _once(source, middle.form, middle.first, room, limit)
    back = out and _once(middle.form, target, middle.last, room, limit - out.steps)
    if not out or not back:
        return None
    legs = Leg(out, Value.SOURCE, Value.BETWEEN), Leg(back, Value.BETWEEN, Value.TARGET)
    return StagedPlan(legs, middle.words)


def _in_parts(
    way: Way, counts: Sequence[int], source: Form, target: Form, index: Longs | None, room: int, limit: int
) -> StagedPlan | None:
    """The plan with the fewest parts that fits; a part fills a range of the target's addresses."""
    size = extent(target.layout, Level.ADDR)
    whole = np.arange(prod(target.shape)) if index is None else index.reshape(-1)
    address = coordinate(spots(target), Level.ADDR).reshape(-1)
    for count in (parts for parts in counts if parts <= size):
        part_of = address * count // size
        plan = StagedPlan(())
        for number in range(count):
            wanted = whole if count == 1 else np.where(part_of == number, whole, KEPT)
            part = way(source, target, wanted, room, limit - plan.steps)
            if part is None:
                break
            plan = StagedPlan((*plan.legs, *part.legs), max(plan.between, part.between))
            alike = StagedPlan(part.legs * (count - number - 1))  # the others will be about as large
            if sum(plan.table_words) + sum(alike.table_words) > spare_words(source, target, room):
                return None
            if plan.steps + alike.steps >= limit or not fits(plan, source, target, room):
                break
        else:
            return plan
    return None


def _plan(route: Route, source: Form, target: Form, lent: bool, room: int, limit: int) -> ChainPlan | None:
    """The plan for a route with the largest windows that fit; if `lent`, the target holds what is exchanged."""
    exchange = exchange_plan(route.before, route.after)
    if exchange is None or max(route.words) > room:
        return None
    bare = ChainPlan((exchange,), route.words, lent)
    left = limit - exchange.steps
    if left <= 0 or not fits(bare, source, target, room):
        return None
    first = gather_draft(source, route.before, route.first)
    if first.least >= left:
        return None
    last = gather_draft(route.after, target, route.last)
    spare = spare_words(source, target, room) - sum(one.words for one in bare.scratch)
    for begun, ended in _pairs(first, last, left, spare):
        chain = ChainPlan((begun, exchange, ended), route.words, lent)
        if fits(chain, source, target, room):
            return chain
    return None


def _pairs(first: Draft, last: Draft, limit: int, spare: int) -> Iterator[tuple[GatherPlan, GatherPlan]]:
    """Plans for both gathers that take less than `limit` steps together: large windows, then large tables first.

    Smaller windows have no smaller tables, so there are none if these take more than `spare` long words.
    """
    for window in WINDOWS:
        begun, ended = first.plan(window), last.plan(window)
        if begun.steps + ended.steps >= limit:
            return
        yield begun, ended
        small = first.plan(window, tagged=True), last.plan(window, tagged=True)
        if sum(min(sum(plan.table_words) for plan in both) for both in zip((begun, ended), small, strict=True)) > spare:
            return
        others = sorted(((begun, small[1]), (small[0], ended), small), key=lambda pair: pair[0].steps + pair[1].steps)
        yield from (pair for pair in others if pair[0].steps + pair[1].steps < limit)
