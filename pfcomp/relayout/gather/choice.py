"""Which windows a gather takes: large ones are fast, small ones need less local memory."""

from __future__ import annotations

from collections.abc import Iterator

from pfcomp.relayout.api import Form
from pfcomp.relayout.gather.plan import WINDOW, Draft, GatherPlan
from pfcomp.relayout.room import beside, fits, fits_anyhow, scratch_room

SMALLEST = 16
"""Long words of the smallest window."""
WORTH = 1.25
"""How much dearer a plan may be that fits wherever source and tables lie."""
MOST_GATHERS = 1 << 17
"""Gathers of a plan from which on none with smaller windows is tried, since it would have even more."""


def within(draft: Draft, source: Form, target: Form, room: int) -> GatherPlan:
    """The cheapest plan for two memories of `room` long words; the one that needs least if none fits."""
    best: GatherPlan | None = None
    tried: list[GatherPlan] = []
    for plan in _plans(draft, source, target, room):
        tried.append(plan)
        if not fits(plan, source, target, room):
            continue
        if best is not None and plan.steps > WORTH * best.steps:
            return best
        if fits_anyhow(plan, source, target, room):
            return plan
        best = plan if best is None or plan.steps < best.steps else best
    return best or min(tried, key=lambda plan: sum(words for words, _ in beside(plan)))


def _plans(draft: Draft, source: Form, target: Form, room: int) -> Iterator[GatherPlan]:
    """Plans with smaller and smaller windows, about the cheapest first; those with small tables last.

    Tables do not shrink with the windows, so they limit what the windows may take.
    """
    for tagged in (False, True):
        window = WINDOW
        while window >= SMALLEST:
            plan = draft.plan(window, tagged=tagged)
            yield plan
            if not plan.scratch or plan.gathers > MOST_GATHERS:
                break
            most = scratch_room(plan.table_words, source, target, room)
            window = min(window, plan.scratch[0].words) // 2
            while window >= SMALLEST and window > most:
                window //= 2
        if not plan.table_words:
            return
