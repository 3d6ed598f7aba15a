"""Plans for routes: sort inside the L1Bs, exchange digits, sort inside the L1Bs."""

from __future__ import annotations

from collections.abc import Iterator

from pfcomp.ir.model import LM_WORDS
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form
from pfcomp.relayout.chain import ChainPlan
from pfcomp.relayout.exchange import exchange_plan
from pfcomp.relayout.gather import Draft, GatherPlan, gather_draft
from pfcomp.relayout.room import fits
from pfcomp.relayout.routing.places import Longs
from pfcomp.relayout.routing.route import Demand, Route, routes

WINDOWS = (512, 128, 32)
"""Sizes of the windows of gathers that are tried."""


def routed_plan(
    source: Form, target: Form, index: Longs | None, room: int = LM_WORDS, limit: int = 1 << 30
) -> ChainPlan | None:
    """The cheapest plan that fits memories of `room` long words and takes less than `limit` steps.

    None if there is none, or if nothing leaves its L1B.
    """
    keeps = index is not None and bool((index < 0).any())
    spare = 0 if keeps else extent(target.layout, Level.ADDR)
    best: ChainPlan | None = None
    for route in routes(Demand.of(source, target, index)):
        plan = _plan(route, source, target, route.words[0] <= spare, room, limit)
        if plan is not None:
            best, limit = plan, plan.steps
    return best


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
    for begun, ended in _pairs(first, last, left):
        chain = ChainPlan((begun, exchange, ended), route.words, lent)
        if fits(chain, source, target, room):
            return chain
    return None


def _pairs(first: Draft, last: Draft, limit: int) -> Iterator[tuple[GatherPlan, GatherPlan]]:
    """Plans for both gathers that take less than `limit` steps together: large windows, then large tables first."""
    for window in WINDOWS:
        begun, ended = first.plan(window), last.plan(window)
        if begun.steps + ended.steps >= limit:
            return
        yield begun, ended
        small = first.plan(window, tagged=True), last.plan(window, tagged=True)
        others = sorted(((begun, small[1]), (small[0], ended), small), key=lambda pair: pair[0].steps + pair[1].steps)
        yield from (pair for pair in others if pair[0].steps + pair[1].steps < limit)
