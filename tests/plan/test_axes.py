"""The canonical small layout, the spread of large values, and layouts that hold together under broadcasting."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pfcomp.layout import Layout, Level
from pfcomp.layout.places import places
from pfcomp.layout.verify import verify
from pfcomp.plan.axes import OUTER_LEVELS, layout_of, spread_axes, table_of
from pfcomp.relayout.moves.rows import exchange_of

SHAPES = st.lists(st.integers(1, 40), max_size=6).map(tuple)
LEVELS = st.lists(st.sampled_from(OUTER_LEVELS), unique=True).map(tuple)


def test_small_value_has_the_layout_of_the_public_dump() -> None:
    table = spread_axes((4, 3), (), spread_words=False)
    assert str(layout_of((3, 4), table)) == "((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])"


def test_large_value_covers_the_chip() -> None:
    table = spread_axes((2048, 2048), OUTER_LEVELS, spread_words=True)
    layout = layout_of((2048, 2048), table)
    used = {d.level for axis in layout.axes for d in axis}
    assert used == set(Level) - {Level.TIME}
    assert prod(d.size for axis in layout.axes for d in axis if d.level is Level.ADDR) == 512


def test_one_element_is_copied_everywhere() -> None:
    assert str(layout_of((1,), spread_axes((1,), (), spread_words=False))) == "((); B@[PE,MAB,L1B,L2B,W])"


@given(SHAPES, LEVELS, st.booleans())
def test_layouts_are_valid_and_read_back(shape: tuple[int, ...], levels: tuple[Level, ...], words: bool) -> None:
    table = spread_axes(tuple(reversed(shape)), levels, spread_words=words)
    layout = layout_of(shape, table)
    verify(layout, shape, 32)
    assert Layout.parse(str(layout)) == layout


@given(SHAPES.filter(lambda s: all(n > 1 for n in s)), LEVELS, st.booleans())
def test_the_table_is_found_in_its_layout(shape: tuple[int, ...], levels: tuple[Level, ...], words: bool) -> None:
    layout = layout_of(shape, spread_axes(tuple(reversed(shape)), levels, spread_words=words))
    assert layout_of(shape, table_of(layout)) == layout


@given(st.integers(2, 40_000), LEVELS, LEVELS)
def test_layouts_of_an_axis_differ_by_an_exchange_of_digits(
    length: int, before: tuple[Level, ...], after: tuple[Level, ...]
) -> None:
    layouts = [layout_of((length,), spread_axes((length,), levels, spread_words=True)) for levels in (before, after)]
    assert exchange_of(*layouts) is not None


@given(st.data(), st.lists(st.integers(1, 12), min_size=1, max_size=4).map(tuple), LEVELS, st.booleans())
def test_an_operand_lies_where_the_result_is(
    data: st.DataObject, shape: tuple[int, ...], levels: tuple[Level, ...], words: bool
) -> None:
    operand = tuple(data.draw(st.sampled_from((1, n))) for n in shape[data.draw(st.integers(0, len(shape))) :])
    table = spread_axes(tuple(reversed(shape)), levels, spread_words=words)
    result_places = places(layout_of(shape, table), shape)
    operand_layout = layout_of(operand, table)
    operand_places = places(operand_layout, operand)
    for level in (Level.L2B, Level.L1B, Level.MAB, Level.PE, Level.W):
        mask = sum((d.size - 1) * d.stride for axis in operand_layout.axes for d in axis if d.level is level)
        here = np.broadcast_to(result_places[level], shape) & mask
        assert np.array_equal(here, np.broadcast_to(operand_places[level], shape))


def test_axes_of_length_one_get_no_digits() -> None:
    assert all(d.spread == 1 for d in spread_axes((1, 1), OUTER_LEVELS, spread_words=True))
