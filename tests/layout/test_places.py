"""Coordinates both ways, extents, copies, padding and density."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings

from pfcomp.errors import SourceError
from pfcomp.layout import Layout, Level
from pfcomp.layout.extents import (
    copy_levels,
    copy_offsets,
    extent,
    extents,
    free_bits,
    padded_shape,
    padding,
    used_bits,
    with_broadcast,
)
from pfcomp.layout.model import SPATIAL_LEVELS
from pfcomp.layout.places import Place, element_at, element_map, place_of, places
from pfcomp.layout.verify import dense, verify
from tests.layout.strategies import layouts, valid_layouts

ADD = Layout.parse("((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])")


def slow_place(layout, index):
    """The definition of design.md 4, one index at a time."""
    found = dict.fromkeys(Level, 0)
    for axis, value in zip(layout.axes, index, strict=True):
        for position, sub in enumerate(axis):
            faster = prod(other.size for other in axis[position + 1 :])
            found[sub.level] += value // faster % sub.size * sub.stride
    return found


@given(valid_layouts())
@settings(max_examples=80, deadline=None)
def test_coordinates_follow_the_definition_and_invert(case):
    layout, shape, bits = case
    verify(layout, shape, bits)
    at = places(layout, shape)
    for index in list(np.ndindex(shape))[:: max(1, prod(shape) // 40)]:
        expected = slow_place(layout, index)
        place = place_of(layout, index)
        assert {level: place.coordinate(level) for level in Level} == expected
        assert {level: int(values[index]) for level, values in at.items()} == expected
        assert element_at(layout, shape, place) == index


@given(valid_layouts())
@settings(max_examples=60, deadline=None)
def test_extents_are_the_coordinates_that_occur(case):
    layout, _, bits = case
    at = places(layout, padded_shape(layout))
    assert extents(layout) == {level: int(values.max()) + 1 for level, values in at.items()}
    for level in SPATIAL_LEVELS:
        bits_seen = int(np.bitwise_or.reduce(at[level], axis=None))
        assert used_bits(layout, level) == bits_seen
        assert free_bits(layout, level, bits) & bits_seen == 0
    counts = {level: np.unique(values) for level, values in at.items()}
    distinct = len({tuple(column) for column in np.stack([values.reshape(-1) for values in at.values()]).T.tolist()})
    assert distinct == prod(padded_shape(layout))
    assert dense(layout) == all(len(values) == extent(layout, level) for level, values in counts.items())


@given(valid_layouts(bits=16, extra=((Level.ADDR, 6), (Level.TIME, 2))))
@settings(max_examples=15, deadline=None)
def test_element_map_agrees_with_element_at_everywhere(case):
    layout, shape, bits = case
    table = element_map(layout, shape, bits)
    rng = np.random.default_rng(prod(shape))
    for _ in range(60):
        at = tuple(int(rng.integers(size)) for size in table.shape)
        index = element_at(layout, shape, Place(*at))
        assert table[at] == (-1 if index is None else np.ravel_multi_index(index, shape) if shape else 0)
    copies = prod(len(copy_offsets(layout, level, bits)) for level in SPATIAL_LEVELS)
    assert np.count_nonzero(table >= 0) == copies * prod(shape)


def test_the_small_layout_of_add():
    assert padded_shape(ADD) == (3, 8)
    assert padding(ADD, (3, 4)) == (0, 4)
    assert extents(ADD) == dict(zip(Level, (1, 1, 1, 4, 2, 3, 1), strict=True))
    assert place_of(ADD, (2, 3)) == Place(pe=3, addr=2)
    assert place_of(ADD, (2, 5)) == Place(pe=1, w=1, addr=2)
    assert element_at(ADD, (3, 4), Place(l2b=7, l1b=5, mab=9, pe=3, addr=2)) == (2, 3)
    assert element_at(ADD, (3, 4), Place(pe=3, w=1, addr=2)) is None
    assert element_at(ADD, (3, 4), Place(pe=3, addr=3)) is None
    assert element_at(ADD, (3, 4), Place(l2b=8)) is None
    assert copy_levels(ADD, 32) == (Level.MAB, Level.L1B, Level.L2B)
    assert copy_levels(ADD, 16) == (Level.MAB, Level.L1B, Level.L2B, Level.W)
    assert dense(ADD)


def test_digits_that_do_not_nest_are_inverted_too():
    layout = Layout.parse("((2:3, 3:2))")
    for index in product(range(6)):
        assert element_at(layout, (6,), place_of(layout, index)) == index
    assert not dense(layout)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("((3:1), (1:1, 2_W:1, 4_PE:1))", str(ADD)),
        ("((4_MAB:4, 2_L1B:2))", "((4_MAB:4, 2_L1B:2); B@[4_MAB:1,2_L1B:1,2_L1B:4,L2B])"),
        ("((16_MAB:1, 8_L1B:1, 8_L2B:1))", "((16_MAB:1, 8_L1B:1, 8_L2B:1))"),
        ("((3_MAB:1, 1_L2B:1))", "((3_MAB:1, 1_L2B:1); B@[4_MAB:4,L1B,L2B])"),
    ],
)
def test_with_broadcast_states_the_copies(text, expected):
    layout = with_broadcast(Layout.parse(text))
    assert str(layout) == expected
    verify(layout, padded_shape(layout), 32)


def test_with_broadcast_of_other_levels():
    assert str(with_broadcast(ADD, (Level.PE, Level.MAB, Level.W))) == "((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,2_W:2])"


@pytest.mark.parametrize("index", [(3, 0), (0, 8), (-1, 0), (0,)])
def test_index_outside(index):
    with pytest.raises(SourceError, match="PF0208"):
        place_of(ADD, index)


@pytest.mark.parametrize(
    ("text", "shape", "bits", "code"),
    [
        ("((3:1))", (3, 4), 32, "PF0202"),
        ("((3:1), (4:3))", (3, 5), 32, "PF0202"),
        ("((3:1))", (0,), 32, "PF0202"),
        ("((0:1))", (1,), 32, "PF0203"),
        ("((8_PE:1))", (8,), 32, "PF0204"),
        ("((4_W:1))", (4,), 32, "PF0204"),
        ("((2_W:1))", (2,), 64, "PF0204"),
        ("((2_W:1))", (2,), 8, "PF0204"),
        ("((2_L2B:8))", (2,), 32, "PF0204"),
        ("((600000000:1))", (5,), 32, "PF0204"),
        ("((4:1), (4:3))", (4, 4), 32, "PF0205"),
        ("((4:0))", (4,), 32, "PF0205"),
        ("((2000:2), (2000:3))", (4, 4), 32, "PF0205"),
        ("((4_PE:1); B@[PE])", (4,), 32, "PF0206"),
        ("((4:1); B@[Addr])", (4,), 32, "PF0206"),
        ("((4:1); B@[16_PE:1])", (4,), 32, "PF0206"),
        ("((4:1); B@[0_PE:1])", (4,), 32, "PF0206"),
        ("((4_L2B:2, 256:8), (8:1, 2_W:1); B@[4_L2B:2])", (1024, 16), 32, "PF0206"),
    ],
)
def test_verifier_rejects(text, shape, bits, code):
    with pytest.raises(SourceError, match=code) as error:
        verify(Layout.parse(text), shape, bits)
    assert text in error.value.where


@pytest.mark.parametrize(
    ("text", "shape", "bits"),
    [
        ("((2:3, 3:2))", (6,), 32),
        ("((3_MAB:5), (5_MAB:1))", (3, 5), 64),
        ("((4_W:1, 5_Time:7); B@[PE,4_L2B:2,1_MAB:0])", (17,), 16),
        ("()", (), 32),
    ],
)
def test_verifier_accepts(text, shape, bits):
    verify(Layout.parse(text), shape, bits)


@given(layouts())
@settings(max_examples=100, deadline=None)
def test_any_layout_is_verified_or_a_typed_error(layout):
    shape = tuple(max(1, size) for size in padded_shape(layout))
    for bits in (16, 64):
        try:
            verify(layout, shape, bits)
        except SourceError:
            continue
        assert all(extent(layout, level) <= level.extent for level in Level)
        assert element_at(layout, shape, place_of(layout, (0,) * len(shape))) == (0,) * len(shape)
