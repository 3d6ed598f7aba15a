"""Plans for routes: sort inside the L1Bs, exchange digits, sort inside the L1Bs."""

from __future__ import annotations

from pfcomp.ir.model import LM_WORDS
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form
from pfcomp.relayout.chain import ChainPlan
from pfcomp.relayout.exchange import exchange_plan
from pfcomp.relayout.gather.plan import draft
from pfcomp.relayout.gather.wanted import Origin, Wanted
from pfcomp.relayout.room import fits, fits_without_windows
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
    if exchange is None or exchange.steps >= limit or max(route.words) > room:
        return None
    bare = ChainPlan((exchange,), route.words, lent)
    if not fits(bare, source, target, room):
        return None
    first = draft(Wanted.of(route.before, route.first), Origin.of(source))
    last = draft(Wanted.of(target, route.last), Origin.of(route.after))
    for tagged in (False, True):
        for window in WINDOWS:
            begun = first.plan(window, tagged=tagged)
            if begun.steps + exchange.steps >= limit:
                return None
            chain = ChainPlan((begun, exchange, last.plan(window, tagged=tagged)), route.words, lent)
            if chain.steps >= limit:
                return None
            if fits(chain, source, target, room):
                return chain
            if not fits_without_windows(chain, bare, source, target, room):
                break  # smaller windows have larger tables
    return None
