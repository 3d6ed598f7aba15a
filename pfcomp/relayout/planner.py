"""The cheapest of the engines: digit exchanges where they apply, gathering, and routes where both are slow."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.api import Form, MovePlan
from pfcomp.relayout.exchange import ExchangePlan, exchange_plan
from pfcomp.relayout.gather import gather_draft, within
from pfcomp.relayout.kept import Kept
from pfcomp.relayout.room import fits
from pfcomp.relayout.routing.plan import routed_plan

ROUTED = 2000
"""Steps from which on a route may be faster."""
EVICTION = 8
"""Steps that may be saved by leaving one long word of a memory to others, which else had to be stored and loaded."""
MOST_BYTES = 256 << 20
"""Memory for plans that may be asked for again."""

Index = NDArray[np.int64]

_plans: Kept[MovePlan] = Kept(MOST_BYTES, lambda plan: plan.bytes)


def relay_plan(source: Form, target: Form, room: int = LM_WORDS) -> MovePlan:
    """How to move a value to another layout, in two local memories of `room` long words if possible."""
    return _plans.get((source, target, None, room), lambda: _relay(source, target, room))


def rearrange_plan(source: Form, target: Form, index: Index, room: int = LM_WORDS) -> MovePlan:
    """How to bring element `index[i]` of the source to place i of the target; places with -1 are left alone."""
    values = np.ascontiguousarray(index, np.int64).reshape(-1)
    digest = hashlib.sha256(values.tobytes()).digest()
    return _plans.get((source, target, digest, room), lambda: _rearrange(source, target, values, room))


def _relay(source: Form, target: Form, room: int) -> MovePlan:
    exchange = exchange_plan(source, target)
    other = _rearrange(source, target, None, room, exchange)
    if exchange is None or other.steps <= exchange.steps:
        return other
    crowded = _crowded(exchange, room) and not _crowded(other, room)
    dear = other.steps > exchange.steps + EVICTION * _scratch(exchange)
    alone = fits(other, source, target, room) and not fits(exchange, source, target, room)
    return other if alone or (crowded and not dear) else exchange


def _rearrange(
    source: Form, target: Form, index: Index | None, room: int, exchange: ExchangePlan | None = None
) -> MovePlan:
    """The cheapest of a gather, a route, which is looked for if nothing else is fast, and an exchange if it is good."""
    begun = gather_draft(source, target, index)
    fitting = exchange is not None and fits(exchange, source, target, room)
    limit = exchange.steps if exchange is not None and fitting else 1 << 30
    route = min(limit, begun.least) >= ROUTED and routed_plan(source, target, index, room, limit)
    if route and route.steps <= begun.least:
        return route
    if not route and exchange is not None and begun.least >= limit and not _crowded(exchange, room):
        return exchange
    gather = within(begun, source, target, room)
    if not route and min(limit, gather.steps) >= ROUTED > begun.least:
        route = routed_plan(source, target, index, room, min(limit, gather.steps))
    return route if route and (route.steps < gather.steps or not fits(gather, source, target, room)) else gather


def _crowded(plan: MovePlan, room: int) -> bool:
    """True if the plan takes so much of a memory that other values may find no place."""
    return _scratch(plan) > room // 2


def _scratch(plan: MovePlan) -> int:
    """Long words of scratch in the memory of which more is needed."""
    return max((scratch.words for scratch in plan.scratch), default=0)
