"""Plans for routes: sort inside the L1Bs, exchange digits, sort inside the L1Bs."""

from __future__ import annotations

from collections.abc import Iterator

from pfcomp.ir.model import LM_WORDS
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form
from pfcomp.relayout.chain import ChainPlan
from pfcomp.relayout.exchange import exchange_plan
from pfcomp.relayout.gather.plan import draft
from pfcomp.relayout.gather.wanted import Origin, Wanted
from pfcomp.relayout.room import fits
from pfcomp.relayout.routing.places import Longs
from pfcomp.relayout.routing.route import Demand, Route, routes

WINDOWS = (512, 128, 32)
"""Sizes of the windows of gathers that are tried."""


def routed_plan(source: Form, target: Form, index: Longs | None, room: int = LM_WORDS) -> ChainPlan | None:
    """The cheapest plan that fits memories of `room` long words; None if none does, or if nothing leaves its L1B."""
    keeps = index is not None and bool((index < 0).any())
    spare = 0 if keeps else extent(target.layout, Level.ADDR)
    found = [
        plan
        for route in routes(Demand.of(source, target, index))
        for plan in _plans(route, source, target, spare, room)
    ]
    return min(found, key=lambda plan: plan.steps, default=None)


def _plans(route: Route, source: Form, target: Form, spare: int, room: int) -> Iterator[ChainPlan]:
    """The plan for a route with the largest windows that fit; `spare` long words of the target may be used before."""
    if max(route.words) > room:
        return
    exchange = exchange_plan(route.before, route.after)
    if exchange is None:
        return
    first = draft(Wanted.of(route.before, route.first), Origin.of(source))
    last = draft(Wanted.of(target, route.last), Origin.of(route.after))
    for window in WINDOWS:
        plans = (first.plan(window), exchange, last.plan(window))
        chain = ChainPlan(plans, route.words, lent=route.words[0] <= spare)
        if fits(chain, source, target, room):
            yield chain
            return
