"""The cheapest of the engines: digit exchanges where they apply, gathering, and routes where both are slow."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.api import Form, MovePlan
from pfcomp.relayout.exchange import ExchangePlan, exchange_plan
from pfcomp.relayout.gather import gather_plan
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
    crowded = _scratch(exchange) > room // 2 >= _scratch(other)  # other values may find no place
    dear = other.steps > exchange.steps + EVICTION * _scratch(exchange)
    alone = fits(other, source, target, room) and not fits(exchange, source, target, room)
    return other if alone or (crowded and not dear) else exchange


def _rearrange(
    source: Form, target: Form, index: Index | None, room: int, exchange: ExchangePlan | None = None
) -> MovePlan:
    """The cheaper one of a gather and a route, which is looked for if there is no fast exchange either."""
    gather = gather_plan(source, target, index, room)
    known = [plan.steps for plan in (gather, exchange) if plan is not None and fits(plan, source, target, room)]
    limit = min(known, default=1 << 30)
    return (limit >= ROUTED and routed_plan(source, target, index, room, limit)) or gather


def _scratch(plan: MovePlan) -> int:
    """Long words of scratch in the memory of which more is needed."""
    return max((scratch.words for scratch in plan.scratch), default=0)
