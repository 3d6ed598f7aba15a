"""The universal relayout: any rearrangement that is known when the program is compiled (backend-movement.md 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.api import Form
from pfcomp.relayout.gather.choice import within
from pfcomp.relayout.gather.plan import Draft, GatherPlan, draft
from pfcomp.relayout.gather.wanted import Origin, Wanted

__all__ = ["Draft", "GatherPlan", "gather_draft", "gather_plan", "within"]


def gather_plan(source: Form, target: Form, index: NDArray[np.int64] | None, room: int = LM_WORDS) -> GatherPlan:
    """Plan the move that sets target element i to source element index[i]; both count row by row.

    None stands for i itself. -1 leaves the target's place as it is. Padding of the target may get any bits. The element
    sizes must agree. Where there is a plan that needs at most `room` long words per PE of each local memory, operands
    included, it is the cheapest of these.
    """
    return within(gather_draft(source, target, index), source, target, room)


def gather_draft(source: Form, target: Form, index: NDArray[np.int64] | None) -> Draft:
    """What `gather_plan` begins with; it knows the least steps of all plans."""
    origin = Origin.of(source)
    return draft(Wanted.of(target, index, origin), origin)
