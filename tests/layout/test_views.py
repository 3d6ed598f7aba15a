"""Canonical form, reshape, transpose and slice against numpy's index arrays."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.layout import Layout, Level, Subaxis
from pfcomp.layout.canonical import canonical, deal, same
from pfcomp.layout.extents import padded_shape
from pfcomp.layout.places import element_at, place_of, places
from pfcomp.layout.verify import verify
from pfcomp.layout.views import reshape, slice_axis, transpose
from tests.layout.strategies import valid_layouts


def equal_places(first, second):
    return all(np.array_equal(first[level], second[level]) for level in Level)


@st.composite
def split_layouts(draw):
    """A valid layout and another spelling of it: digits cut at divisors, digits of one value put in."""
    layout, shape, bits = draw(valid_layouts())
    axes = []
    for axis in layout.axes:
        subs = []
        for sub in axis:
            low = draw(st.sampled_from([d for d in range(1, sub.size + 1) if sub.size % d == 0]))
            subs.append(Subaxis(sub.size // low, sub.level, sub.stride * low))
            subs.append(Subaxis(low, sub.level, sub.stride))
            if draw(st.booleans()):
                subs.append(Subaxis(1, draw(st.sampled_from(list(Level))), 3))
        axes.append(tuple(subs))
    return layout, Layout(tuple(axes)), shape, bits


@given(split_layouts())
@settings(max_examples=80, deadline=None)
def test_splitting_digits_keeps_places_and_canonical_form(case):
    layout, other, shape, _ = case
    assert same(layout, other)
    assert canonical(canonical(layout)) == canonical(layout)
    assert equal_places(places(layout, shape), places(other, shape))
    assert equal_places(places(layout, shape), places(canonical(layout), shape))


@given(valid_layouts(), valid_layouts())
@settings(max_examples=60, deadline=None)
def test_different_places_are_not_the_same(first, second):
    shapes = padded_shape(first[0]), padded_shape(second[0])
    equal = shapes[0] == shapes[1] and equal_places(places(first[0], shapes[0]), places(second[0], shapes[0]))
    assert same(first[0], second[0]) == equal


def test_canonical_merges_transitively():
    assert str(canonical(Layout.parse("((2:12, 3:4, 1_PE:1, 4:1, 2_W:1); B@[PE])"))) == "((24:1, 2_W:1))"


@pytest.mark.parametrize(
    ("text", "sizes", "expected"),
    [
        ("((6:1))", (3,), ["(2:3)", "(3:1)"]),
        ("((4_PE:1, 6:2))", (12,), ["(2_PE:2)", "(2_PE:1, 6:2)"]),
        ("((4_PE:1, 6:2))", (2, 3, 2), ["(2_PE:2)", "(2_PE:1)", "(3:4)", "(2:2)"]),
        ("((6:1))", (4,), None),
        ("((6:1))", (12,), None),
    ],
)
def test_deal(text, sizes, expected):
    groups = deal(Layout.parse(text).axes[0], sizes)
    assert (groups and [str(Layout((group,)))[1:-1] for group in groups]) == expected


@given(valid_layouts(), st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_transpose(case, random):
    layout, shape, _ = case
    order = list(range(len(shape)))
    random.shuffle(order)
    moved = transpose(layout, tuple(order))
    before, after = places(layout, shape), places(moved, tuple(shape[axis] for axis in order))
    assert all(np.array_equal(np.transpose(before[level], order), after[level]) for level in Level)


@st.composite
def reshapes(draw):
    """A valid layout, often without padding, and a new shape of as many elements."""
    layout, shape, bits = draw(valid_layouts())
    if draw(st.booleans()):
        shape = padded_shape(layout)
    factors = [p for size in shape for p in _primes(size)]
    new_shape, current = [], 1
    for factor in factors:
        current *= factor
        if draw(st.booleans()):
            new_shape.append(current)
            current = draw(st.sampled_from([1, 1, 1]))
    new_shape += [current] if current > 1 or draw(st.booleans()) else []
    for _ in range(draw(st.integers(0, 2))):
        new_shape.insert(draw(st.integers(0, len(new_shape))), 1)
    return layout, shape, tuple(new_shape), bits


def _primes(number):
    found, divisor = [], 2
    while number > 1:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return found


@given(reshapes())
@settings(max_examples=150, deadline=None)
def test_reshape_renames_or_declines(case):
    layout, shape, new_shape, bits = case
    view = reshape(layout, shape, new_shape)
    if view is not None:
        verify(view, new_shape, bits)
        before, after = places(layout, shape), places(view, new_shape)
        assert all(np.array_equal(before[level].reshape(new_shape), after[level]) for level in Level)


@pytest.mark.parametrize(
    ("text", "shape", "new_shape", "expected"),
    [
        ("((3:1), (1:1, 2_W:1, 4_PE:1))", (3, 4), (1, 3, 1, 4, 1), "((), (3:1), (), (1:1, 2_W:1, 4_PE:1), ())"),
        ("((8_L2B:1, 4:1), (2:4, 4_PE:1))", (32, 8), (256,), "((8_L2B:1, 4:1, 2:4, 4_PE:1))"),
        ("((8_L2B:1, 4:1, 2:4, 4_PE:1))", (256,), (16, 2, 8), "((8_L2B:1, 2:2), (2:1), (2:4, 4_PE:1))"),
        ("((8:1), (4_PE:1))", (7, 4), (28,), "((8:1, 4_PE:1))"),
        ("((8:1), (4_PE:1))", (7, 4), (14, 2), "((8:1, 2_PE:2), (2_PE:1))"),
        ("((8:1), (4_PE:1))", (7, 3), (21,), None),
        ("((4_PE:1), (8:1))", (1, 8), (8,), "((4_PE:1, 8:1))"),
        ("((4_PE:1), (8:1))", (1, 8), (1, 8), "((4_PE:1), (8:1))"),
        ("((8:1), (4_PE:1))", (8, 1), (8,), None),
        ("((8:1))", (8,), (4, 3), None),
        ("((2:3, 3:1))", (6,), (3, 2), None),
        ("()", (), (1, 1), "((), ())"),
        ("((), ())", (1, 1), (), "()"),
    ],
)
def test_reshape_cases(text, shape, new_shape, expected):
    view = reshape(Layout.parse(text), shape, new_shape)
    assert (None if view is None else str(view)) == expected


@st.composite
def slices(draw):
    layout, shape, bits = draw(valid_layouts().filter(lambda case: case[1]))
    axis = draw(st.integers(0, len(shape) - 1))
    start = draw(st.integers(0, shape[axis] - 1))
    step = draw(st.sampled_from([1, 1, 1, 2, 3, 4, 8]))
    count = draw(st.integers(1, (shape[axis] - 1 - start) // step + 1))
    return layout, shape, axis, start, count, step, bits


@given(slices())
@settings(max_examples=200, deadline=None)
def test_slice_renames_or_declines(case):
    layout, shape, axis, start, count, step, bits = case
    view = slice_axis(layout, shape, axis, start, count, step=step)
    if view is None:
        return
    new_shape = (*shape[:axis], count, *shape[axis + 1 :])
    verify(view.layout, new_shape, bits)
    select = (slice(None),) * axis + (slice(start, start + step * (count - 1) + 1, step),)
    before, after = places(layout, shape), places(view.layout, new_shape)
    offsets = {Level.ADDR: view.addr, Level.TIME: view.time}
    assert all(np.array_equal(before[level][select], after[level] + offsets.get(level, 0)) for level in Level)
    for flat in range(0, prod(new_shape), 7):
        index = tuple(int(i) for i in np.unravel_index(flat, new_shape))
        assert element_at(view.layout, new_shape, place_of(view.layout, index)) == index


@pytest.mark.parametrize(
    ("text", "size", "start", "count", "step", "expected"),
    [
        ("((10:1))", 10, 3, 5, 1, ("((5:1))", 3)),
        ("((10:1))", 10, 1, 3, 3, ("((3:3))", 1)),
        ("((6:4, 4_PE:1))", 24, 8, 10, 1, ("((3:4, 4_PE:1))", 8)),
        ("((6:4, 4_PE:1))", 24, 7, 4, 1, None),
        ("((4_PE:1, 6:1))", 24, 0, 5, 1, ("((4_PE:1, 5:1))", 0)),
        ("((4_PE:1, 6:1))", 24, 0, 13, 1, ("((4_PE:1, 6:1))", 0)),
        ("((4_PE:1, 6:1))", 24, 6, 6, 1, None),
        ("((4_PE:1, 6:1))", 24, 2, 4, 6, ("((4_PE:1))", 2)),
        ("((2:8, 4:2, 2_W:1))", 16, 0, 8, 2, ("((2_W:1, 2:8, 4:2))", 0)),
        ("((2:8, 4:2, 2_W:1))", 16, 1, 8, 2, None),
        ("((3_Time:1, 4:1))", 12, 4, 8, 1, ("((2_Time:1, 4:1))", 0)),
        ("(())", 1, 0, 1, 1, ("(())", 0)),
    ],
)
def test_slice_cases(text, size, start, count, step, expected):
    view = slice_axis(Layout.parse(text), (size,), 0, start, count, step=step)
    assert (None if view is None else (str(view.layout), view.addr)) == expected
    if text.startswith("((3_Time"):
        assert view is not None
        assert view.time == 1
