"""What a layout costs an element-wise region: steps to load, store and compute, and DRAM time, all in steps."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from pfcomp.isa.model import CYCLES
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.recipe import load_recipe
from pfcomp.plan.axes import AxisTable, address_extents, layout_of

DRAM_WORDS_PER_CYCLE = 8
"""Long words that one group's DRAM moves in a cycle (isa.md 21.3)."""


def transfer_steps(shape: tuple[int, ...], table: AxisTable) -> int:
    """Steps that moving a value between DRAM and LM takes when its three hops follow one another."""
    spec = ImageSpec.of(layout_of(shape, table), shape, 32)
    recipe = load_recipe(spec)
    return -(-spec.group_words // (CYCLES * DRAM_WORDS_PER_CYCLE)) + recipe.l2bm_steps + recipe.l1bm_steps


def region_steps(moved: Iterable[tuple[int, ...]], computed: Iterable[tuple[int, ...]], table: AxisTable) -> int:
    """Estimate for a region that moves values of the shapes `moved` and computes those of `computed`."""
    compute = sum(-(-prod(address_extents(shape, table)) // CYCLES) for shape in computed)
    return compute + sum(transfer_steps(shape, table) for shape in moved)
