"""Common digits of two layouts, against the places of all elements."""

from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.layout import Layout, Level, Subaxis, padded_shape, places, reshape, transpose
from pfcomp.layout.digits import Digit, Moved, Slot, bit_name, changes, exchange, refine, split_bits
from tests.layout.strategies import valid_layouts


@st.composite
def layout_pairs(draw):
    """Two layouts of one shape whose digits are parts of the same factors, sometimes padded differently."""
    source, shape, _ = draw(valid_layouts())
    axes = []
    spread = dict.fromkeys(Level, 1)
    for axis in source.axes:
        subs = []
        for size in (part for sub in axis for part in _parts(draw, sub.size)):
            level = draw(st.sampled_from(list(Level)))
            if spread[level] * size > level.extent:
                level = Level.ADDR
            subs.append(Subaxis(size, level, spread[level]))
            spread[level] *= size
        if draw(st.booleans()) and subs:
            subs.insert(0, Subaxis(2, Level.ADDR, spread[Level.ADDR]))
            spread[Level.ADDR] *= 2
        axes.append(tuple(subs))
    return source, Layout(tuple(axes)), shape


def _parts(draw, size):
    low = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
    return size // low, low


def coordinates_by_digits(digits, side, shape):
    found = {level: np.zeros(shape, dtype=np.int64) for level in Level}
    index = np.indices(shape)
    for digit in digits:
        slot = getattr(digit, side)
        value = index[digit.axis] // digit.weight % digit.size
        if slot is None:
            assert not value.any()
        else:
            found[slot.level] += value * slot.stride
    return found


@given(layout_pairs())
@settings(max_examples=80, deadline=None)
def test_digits_give_the_places_of_both_layouts(case):
    source, target, shape = case
    digits = refine(source, target)
    assert digits is not None
    shape = tuple(map(min, padded_shape(source), padded_shape(target))) if shape else shape
    for side, layout in (("source", source), ("target", target)):
        found, expected = coordinates_by_digits(digits, side, shape), places(layout, shape)
        assert all(np.array_equal(found[level], expected[level]) for level in Level)


@given(valid_layouts(), valid_layouts())
@settings(max_examples=60, deadline=None)
def test_any_two_layouts_are_refined_or_declined(first, second):
    rank = min(len(first[0].axes), len(second[0].axes))
    source, target = Layout(first[0].axes[:rank]), Layout(second[0].axes[:rank])
    digits = refine(source, target)
    if digits is None:
        return
    for side, layout in (("source", source), ("target", target)):
        shape = tuple(map(min, padded_shape(source), padded_shape(target)))
        found, expected = coordinates_by_digits(digits, side, shape), places(layout, shape)
        assert all(np.array_equal(found[level], expected[level]) for level in Level)


def pairs_of_places(moved):
    """All (source coordinates, target coordinates), where both exist."""
    found = set()
    rows = [row for row in moved if row.source and row.target]
    for values in product(*(range(row.size) for row in rows)):
        before, after = dict.fromkeys(Level, 0), dict.fromkeys(Level, 0)
        for value, row in zip(values, rows, strict=True):
            before[row.source.level] += value * row.source.stride
            after[row.target.level] += value * row.target.stride
        found.add((tuple(before.values()), tuple(after.values())))
    return found


@given(layout_pairs().filter(lambda case: prod(padded_shape(case[0])) <= 600))
@settings(max_examples=50, deadline=None)
def test_exchange_describes_the_movement(case):
    source, target, shape = case
    digits = refine(source, target)
    shape = tuple(map(min, padded_shape(source), padded_shape(target))) if shape else shape
    before, after = places(source, shape), places(target, shape)
    flat = [[values.reshape(-1).tolist() for values in side.values()] for side in (before, after)]
    expected = set(zip(zip(*flat[0], strict=True), zip(*flat[1], strict=True), strict=True))
    moved = exchange(digits)
    assert pairs_of_places(moved) == expected
    assert pairs_of_places(split_bits(moved)) == expected
    assert all(row.size == 2 or row.size % 2 for row in split_bits(moved))
    assert changes(moved) == tuple(row for row in moved if row.source != row.target)


@given(layout_pairs(), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_exchange_does_not_depend_on_names(case, random):
    source, target, _ = case
    moved = exchange(refine(source, target))
    order = list(range(len(source.axes)))
    random.shuffle(order)
    assert exchange(refine(transpose(source, tuple(order)), transpose(target, tuple(order)))) == moved
    shapes = padded_shape(source), padded_shape(target)
    if shapes[0] == shapes[1]:
        flat = (prod(shapes[0]),)
        views = [reshape(layout, shapes[0], flat) for layout in (source, target)]
        assert exchange(refine(*views)) == moved
    cut = Layout(tuple(tuple(part for sub in axis for part in _halves(sub)) for axis in source.axes))
    assert exchange(refine(cut, target)) == moved


def _halves(sub):
    low = next((d for d in range(2, sub.size) if sub.size % d == 0), 1)
    return Subaxis(sub.size // low, sub.level, sub.stride * low), Subaxis(low, sub.level, sub.stride)


@given(valid_layouts())
@settings(max_examples=30, deadline=None)
def test_a_layout_and_itself_have_nothing_to_move(case):
    assert changes(exchange(refine(case[0], case[0]))) == ()


def slot(text):
    level, stride = text.split(":")
    return Slot(Level(level), int(stride))


def test_transpose_of_a_gemm_operand():
    source = Layout.parse("((8_L2B:1, 16_MAB:1), (32:1, 4_PE:1, 2_W:1))")
    target = Layout.parse("((8_L2B:1, 2:4, 4_PE:1, 2_W:1), (4:1, 8_MAB:2, 8:8))")
    digits = refine(source, target)
    assert digits == (
        Digit(0, 16, 8, slot("L2B:1"), slot("L2B:1")),
        Digit(0, 8, 2, slot("MAB:8"), slot("Addr:4")),
        Digit(0, 2, 4, slot("MAB:2"), slot("PE:1")),
        Digit(0, 1, 2, slot("MAB:1"), slot("W:1")),
        Digit(1, 64, 4, slot("Addr:8"), slot("Addr:1")),
        Digit(1, 8, 8, slot("Addr:1"), slot("MAB:2")),
        Digit(1, 2, 4, slot("PE:1"), slot("Addr:16")),
        Digit(1, 1, 2, slot("W:1"), slot("Addr:8")),
    )
    assert exchange(digits)[0] == Moved(8, slot("L2B:1"), slot("L2B:1"))
    assert len(changes(exchange(digits))) == 7


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("((7:8, 8_L1B:1))", "((8_L1B:1, 7:1))", None),
        ("((2_PE:1, 3:1))", "((3:1, 2_PE:1))", None),
        ("((4:1))", "((4:1, 3_PE:1))", None),
        ("((6:1))", "((3_MAB:1, 2:1))", [(3, "Addr:2", "MAB:1"), (2, "Addr:1", "Addr:1")]),
        ("((4:1))", "((3:4, 4_PE:1))", [(3, None, "Addr:4"), (4, "Addr:1", "PE:1")]),
        ("(())", "((1:1, 2_W:1))", [(2, None, "W:1")]),
        ("()", "()", []),
    ],
)
def test_refine_cases(source, target, expected):
    digits = refine(Layout.parse(source), Layout.parse(target))
    if expected is None:
        assert digits is None
        return
    wanted = [(size, one and slot(one), two and slot(two)) for size, one, two in expected]
    assert [(digit.size, digit.source, digit.target) for digit in digits] == wanted


def test_split_bits_keeps_an_odd_factor_on_top():
    row = Moved(12, slot("Addr:5"), None)
    assert split_bits((row,)) == (
        Moved(2, slot("Addr:5"), None),
        Moved(2, slot("Addr:10"), None),
        Moved(3, slot("Addr:20"), None),
    )


@pytest.mark.parametrize(
    ("text", "bits", "name"),
    [
        ("L2B:1", 32, "C"), ("L2B:2", 32, "G0"), ("L2B:4", 32, "G1"), ("L1B:1", 32, "B0"), ("L1B:4", 32, "B2"),
        ("MAB:8", 32, "M3"), ("PE:2", 32, "P1"), ("W:1", 32, "W1"), ("W:1", 16, "W0"), ("W:2", 16, "W1"),
        ("W:1", 64, None), ("MAB:3", 32, None), ("PE:4", 32, None), ("Addr:12", 32, "A"), ("Time:3", 32, "T"),
    ],
)  # fmt: skip
def test_bit_names(text, bits, name):
    assert bit_name(slot(text), bits) == name
