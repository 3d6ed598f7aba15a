"""Operands of broadcasting operations against brute force over element maps."""

from math import prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.errors import SourceError
from pfcomp.layout import Layout, Level
from pfcomp.layout.broadcast import address_map, aligned, broadcast_operand
from pfcomp.layout.canonical import same
from pfcomp.layout.extents import digits_of, extent
from pfcomp.layout.places import element_map
from pfcomp.layout.verify import dense, verify
from tests.layout.strategies import valid_layouts

SMALL = ((Level.ADDR, 4), (Level.TIME, 2))


@st.composite
def operands(draw, bits=32):
    """A result layout and an operand shape that broadcasts to it."""
    layout, shape, bits = draw(valid_layouts(bits=bits, extra=SMALL))
    kept = shape[draw(st.integers(0, len(shape))) :]
    return layout, shape, tuple(draw(st.sampled_from([1, size])) for size in kept), bits


def needed_and_held(layout, shape, other, other_shape, bits):
    """Per (PE, W, time): the operand elements needed by result addresses, and those held, as arrays."""
    result = element_map(layout, shape, bits)
    flat = np.broadcast_to(np.arange(np.prod(other_shape, dtype=int)).reshape(other_shape), shape).reshape(-1)
    return np.where(result >= 0, flat[result], -1), element_map(other, other_shape, bits)


def slow_aligned(layout, shape, other, other_shape, bits):
    need, held = needed_and_held(layout, shape, other, other_shape, bits)
    times = held.shape[6]
    for time in range(need.shape[6]):
        mine = need[..., time].reshape(-1, need.shape[5])
        if times > 1 and time >= times and (mine >= 0).any():
            return False
        have = held[..., time if times > 1 else 0] if time < times or times == 1 else None
        if have is None:
            continue
        found = (mine[:, :, None] == have.reshape(len(mine), 1, -1)).any(axis=2)
        if not (found | (mine < 0)).all():
            return False
    return True


@given(operands())
@settings(max_examples=20, deadline=None)
def test_operand_is_dense_aligned_and_mapped(case):
    layout, shape, operand_shape, bits = case
    operand = broadcast_operand(layout, shape, operand_shape)
    verify(operand, operand_shape, bits)
    assert aligned(layout, shape, operand, operand_shape)
    if dense(layout):
        for level in (Level.ADDR, Level.TIME):
            assert prod(sub.size for sub in digits_of(operand, level)) == extent(operand, level)
    table = address_map(layout, shape, operand, operand_shape)
    assert table is not None
    need, held = needed_and_held(layout, shape, operand, operand_shape, bits)
    for time in range(need.shape[6]):
        own_time = time if held.shape[6] > 1 else 0
        for address in range(need.shape[5]):
            wanted = need[..., address, time]
            if (wanted >= 0).any():
                got = held[..., table[time, address], own_time]
                assert ((wanted == got) | (wanted < 0)).all()


@given(operands(), valid_layouts(bits=32, extra=SMALL))
@settings(max_examples=8, deadline=None)
def test_aligned_agrees_with_brute_force(case, other_case):
    layout, shape, operand_shape, bits = case
    good = broadcast_operand(layout, shape, operand_shape)
    candidates = [(good, operand_shape), (layout, shape), (other_case[0], other_case[1])]
    if operand_shape:
        candidates.append((Layout(tuple(reversed(good.axes))), tuple(reversed(operand_shape))))
    for other, other_shape in candidates:
        try:
            np.broadcast_to(np.zeros(other_shape), shape)
        except ValueError:
            assert not aligned(layout, shape, other, other_shape)
            continue
        assert aligned(layout, shape, other, other_shape) == slow_aligned(layout, shape, other, other_shape, bits)


LARGE = "((8_L2B:1, 8_L1B:1, 4:4), (16_MAB:1, 4:1, 2_W:1, 4_PE:1))"


@pytest.mark.parametrize(
    ("text", "shape", "operand_shape", "expected", "addresses"),
    [
        ("((3:1), (1:1, 2_W:1, 4_PE:1))", (3, 4), (4,), "((1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])", [0, 0, 0]),
        ("((3:1), (1:1, 2_W:1, 4_PE:1))", (3, 4), (3, 1), "((3:1), (); B@[MAB,L1B,L2B])", [0, 1, 2]),
        ("((3:1), (1:1, 2_W:1, 4_PE:1))", (3, 4), (), "(; B@[MAB,L1B,L2B])", [0, 0, 0]),
        (LARGE, (256, 512), (1, 512), "((), (16_MAB:1, 4:1, 2_W:1, 4_PE:1); B@[L1B,L2B])", [0, 1, 2, 3] * 4),
        (LARGE, (256, 512), (256, 1), "((8_L2B:1, 8_L1B:1, 4:1), (); B@[MAB])", [0] * 4 + [1] * 4 + [2] * 4 + [3] * 4),
        (LARGE, (250, 500), (250, 500), f"{LARGE[:-1]})", list(range(16))),
    ],
)
def test_operand_cases(text, shape, operand_shape, expected, addresses):
    layout = Layout.parse(text)
    operand = broadcast_operand(layout, shape, operand_shape)
    assert str(operand) == expected
    table = address_map(layout, shape, operand, operand_shape)
    assert table is not None
    assert table[0].tolist() == addresses


def test_address_map_declines_when_places_disagree():
    layout, other = Layout.parse("((4_PE:1, 4:1))"), Layout.parse("((4:1, 4_PE:1))")
    assert address_map(layout, (16,), other, (16,)) is None
    assert address_map(layout, (16,), other, (15,)) is None
    assert not aligned(layout, (16,), other, (16,))


def test_address_map_marks_addresses_without_elements():
    layout = Layout.parse("((2_PE:1, 3:4))")
    assert address_map(layout, (6,), layout, (6,)).tolist() == [[0, -1, -1, -1, 4, -1, -1, -1, 8]]


def test_address_map_falls_back_to_the_elements_of_the_shape():
    layout, other = Layout.parse("((2_PE:1, 3:1))"), Layout.parse("((2:1, 3_PE:1))")
    assert address_map(layout, (2,), other, (2,)).tolist() == [[0, 0, -1]]
    assert address_map(layout, (6,), other, (6,)) is None


def test_same_layout_comes_back_when_nothing_repeats():
    layout = Layout.parse("((3:5), (4_PE:1))")
    assert same(broadcast_operand(layout, (3, 4), (3, 4)), layout)


@pytest.mark.parametrize("operand_shape", [(2, 4), (1, 3, 4), (3, 2)])
def test_shapes_that_do_not_broadcast(operand_shape):
    with pytest.raises(SourceError, match="PF0202"):
        broadcast_operand(Layout.parse("((3:1), (4_PE:1))"), (3, 4), operand_shape)
