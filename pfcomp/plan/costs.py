"""Estimated steps of loads, stores and relayouts, for the layout planner; cached, since states ask again and again."""

from __future__ import annotations

from functools import lru_cache

from pfcomp.errors import PfcompError
from pfcomp.kernels.api import Spec
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.model import Level
from pfcomp.layout.recipe import load_recipe, store_recipe
from pfcomp.plan.address import LM_SIZE
from pfcomp.relayout.api import Form
from pfcomp.relayout.guess import relay_guess

LATENCY = 6
"""Steps from the first L2BM step of a transfer to its last long word in local memory."""


@lru_cache(maxsize=1 << 14)
def fits(spec: Spec, layout: Layout) -> bool:
    """True if a value can lie in one local memory and has a DRAM image."""
    if extent(layout, Level.ADDR) > LM_SIZE:
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


def relay_steps(spec: Spec, source: Layout, target: Layout) -> int:
    """From one layout to another within local memory."""
    return _relay(spec, canonical(source), canonical(target))


@lru_cache(maxsize=1 << 14)
def _relay(spec: Spec, source: Layout, target: Layout) -> int:
    if source == target:
        return 0
    return relay_guess(Form(spec.shape, spec.dtype.bits, source), Form(spec.shape, spec.dtype.bits, target))
