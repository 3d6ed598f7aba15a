"""Estimated steps of loads, stores and relayouts, for the layout planner; cached, since states ask again and again."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from pfcomp.errors import PfcompError
from pfcomp.ir.model import LM_WORDS
from pfcomp.kernels.api import Spec
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.model import Level
from pfcomp.layout.recipe import load_recipe, store_recipe
from pfcomp.relayout.api import Form
from pfcomp.relayout.guess import relay_guess
from pfcomp.relayout.planner import relay_plan
from pfcomp.relayout.room import fits as plan_fits

TOO_DEAR = 1 << 30
"""Steps of what cannot be done."""

LATENCY = 6
"""Steps from the first L2BM step of a transfer to its last long word in local memory."""


@lru_cache(maxsize=1 << 14)
def fits(spec: Spec, layout: Layout, room: int = LM_WORDS) -> bool:
    """True if a value can lie in one local memory of `room` long words and has a DRAM image."""
    if extent(layout, Level.ADDR) > room:
        return False
    try:
        ImageSpec.of(layout, spec.shape, spec.dtype.bits)
    except PfcompError:
        return False
    return True


@lru_cache(maxsize=1 << 14)
def load_steps(spec: Spec, layout: Layout) -> int:
    """DRAM to local memory: L2BM and L1BM steps run side by side."""
    recipe = load_recipe(ImageSpec.of(layout, spec.shape, spec.dtype.bits))
    return max(recipe.l2bm_steps, recipe.l1bm_steps) + LATENCY


@lru_cache(maxsize=1 << 14)
def store_steps(spec: Spec, layout: Layout) -> int:
    """Local memory to DRAM."""
    recipe = store_recipe(ImageSpec.of(layout, spec.shape, spec.dtype.bits))
    return max(recipe.l2bm_steps, recipe.l1bm_steps) + LATENCY


@dataclass(slots=True)
class RelayCosts:
    """Steps of relayouts: guesses, until `learn` has planned one. One object belongs to one planning of one graph.

    Those that need more than two memories of `room` long words are learnt to be TOO_DEAR.
    """

    room: int = LM_WORDS
    known: dict[tuple[Form, Form], int] = field(default_factory=dict)

    def steps(self, spec: Spec, source: Layout, target: Layout) -> int:
        """From one layout to another within local memory."""
        forms = _forms(spec, source, target)
        if forms[0] == forms[1]:
            return 0
        found = self.known.get(forms)
        return relay_guess(*forms) if found is None else found

    def learn(self, spec: Spec, source: Layout, target: Layout) -> bool:
        """Plan a relayout, so that its steps are known from now on; False if they were."""
        forms = _forms(spec, source, target)
        if forms in self.known:
            return False
        self.known[forms] = _planned(spec, source, target, self.room)
        return True


@lru_cache(maxsize=1 << 15)
def _forms(spec: Spec, source: Layout, target: Layout) -> tuple[Form, Form]:
    bits = spec.dtype.bits
    return Form(spec.shape, bits, canonical(source)), Form(spec.shape, bits, canonical(target))


def _planned(spec: Spec, source: Layout, target: Layout, room: int) -> int:
    bits = spec.dtype.bits
    forms = Form(spec.shape, bits, source), Form(spec.shape, bits, target)
    plan = relay_plan(*forms, room)
    return plan.steps if plan_fits(plan, *forms, room) else TOO_DEAR
