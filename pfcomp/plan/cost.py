"""What a layout costs an element-wise region: steps to load, store and compute, and DRAM time, all in steps."""

from __future__ import annotations

from collections.abc import Iterable

from pfcomp.layout.imagespec import ImageSpec
from pfcomp.plan.axes import AxisTable, address_extents, layout_of

DRAM_WORDS_PER_CYCLE = 8
"""Long words that one group's DRAM moves in a cycle (isa.md 21.3)."""

L2BM_STEP_WORDS = 256
L1BM_STEP_ADDRESSES = 4


def transfer_steps(shape: tuple[int, ...], table: AxisTable) -> int:
    """Steps that moving a value between DRAM and LM takes when its three hops follow one another."""
    spec = ImageSpec.of(layout_of(shape, table), shape, 32)
    dram = -(-spec.group_words // (4 * DRAM_WORDS_PER_CYCLE))
    l2bm = -(-spec.region_words // (L2BM_STEP_WORDS if spec.l1b_bits else L2BM_STEP_WORDS // 4))
    return dram + l2bm + -(-spec.addresses // L1BM_STEP_ADDRESSES)


def region_steps(moved: Iterable[tuple[int, ...]], computed: Iterable[tuple[int, ...]], table: AxisTable) -> int:
    """Estimate for a region that moves values of the shapes `moved` and computes those of `computed`."""
    compute = 0
    for shape in computed:
        addresses = 1
        for n in address_extents(shape, table):
            addresses *= n
        compute += -(-addresses // L1BM_STEP_ADDRESSES)
    return compute + sum(transfer_steps(shape, table) for shape in moved)
