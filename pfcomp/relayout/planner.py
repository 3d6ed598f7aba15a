"""The cheaper of the two engines: digit exchanges where they apply, gathering for everything else."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.api import Form, MovePlan
from pfcomp.relayout.exchange import exchange_plan
from pfcomp.relayout.gather import gather_plan

ROOM = LM_WORDS // 2
"""Scratch in one local memory from which on other values may find no place."""


@lru_cache(maxsize=4096)
def relay_plan(source: Form, target: Form) -> MovePlan:
    """How to move a value to another layout."""
    exchange = exchange_plan(source, target)
    gather = gather_plan(source, target, None)
    if exchange is None or gather.steps <= exchange.steps or _room(exchange) > ROOM >= _room(gather):
        return gather
    return exchange


def _room(plan: MovePlan) -> int:
    """Long words of scratch in the memory of which more is needed."""
    return max((scratch.words for scratch in plan.scratch), default=0)


def rearrange_plan(source: Form, target: Form, index: NDArray[np.int64]) -> MovePlan:
    """How to bring element `index[i]` of the source to place i of the target; places with -1 are left alone."""
    return gather_plan(source, target, index)
