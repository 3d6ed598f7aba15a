"""The cheaper of the two engines: digit exchanges where they apply, gathering for everything else."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.api import Form, MovePlan
from pfcomp.relayout.exchange import exchange_plan
from pfcomp.relayout.gather import gather_plan
from pfcomp.relayout.room import fits


def relay_plan(source: Form, target: Form, room: int = LM_WORDS) -> MovePlan:
    """How to move a value to another layout, in two local memories of `room` long words if possible."""
    exchange = exchange_plan(source, target)
    gather = gather_plan(source, target, None, room)
    if exchange is None or gather.steps <= exchange.steps:
        return gather
    crowded = _scratch(exchange) > room // 2 >= _scratch(gather)  # other values may find no place
    alone = fits(gather, source, target, room) and not fits(exchange, source, target, room)
    return gather if crowded or alone else exchange


def _scratch(plan: MovePlan) -> int:
    """Long words of scratch in the memory of which more is needed."""
    return max((scratch.words for scratch in plan.scratch), default=0)


def rearrange_plan(source: Form, target: Form, index: NDArray[np.int64], room: int = LM_WORDS) -> MovePlan:
    """How to bring element `index[i]` of the source to place i of the target; places with -1 are left alone."""
    return gather_plan(source, target, index, room)
