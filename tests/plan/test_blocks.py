"""Cuts cover every address exactly once, and parts of values are contiguous."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

from pfcomp.plan.axes import address_extents, spread_axes
from pfcomp.plan.blocks import cuts, region_extents

SIZES = st.lists(st.integers(1, 14), min_size=1, max_size=4).map(tuple)


@given(SIZES, st.data())
def test_parts_tile_the_value(sizes: tuple[int, ...], data: st.DataObject) -> None:
    table = spread_axes(sizes, (), spread_words=False)
    shape = tuple(reversed(sizes))
    options = list(cuts(region_extents(sizes, table)))
    blocks = options[data.draw(st.integers(0, len(options) - 1))]
    covered = [a for block in blocks for a in range(*block.part(shape, table))]
    assert covered == list(range(prod(address_extents(shape, table))))


@given(SIZES)
def test_cuts_become_finer(sizes: tuple[int, ...]) -> None:
    table = spread_axes(sizes, (), spread_words=False)
    counts = [len(blocks) for blocks in cuts(region_extents(sizes, table))]
    assert counts[0] == 1
    assert counts == sorted(counts)
    assert counts[-1] == prod(address_extents(tuple(reversed(sizes)), table))
