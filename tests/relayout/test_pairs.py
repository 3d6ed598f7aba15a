"""Random pairs of layouts through the planner of relayouts: every element arrives in all its copies."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pfcomp.ir.model import DType, Location
from pfcomp.layout import Level, extent
from pfcomp.relayout.planner import relay_plan
from tests.relayout.moves import Case, run_move
from tests.relayout.pairs import digit_pairs, layouts_of

MOST_WORDS = 64

memories = st.tuples(*[st.sampled_from([Location.LM0, Location.LM1])] * 2)
widths = st.sampled_from([32, 32, 32, 64])


@st.composite
def cases(draw):
    """Half of the pairs have the same digits in other places, half have nothing in common but the shape."""
    bits = draw(widths)
    if draw(st.booleans()):
        pair = draw(digit_pairs(bits=bits, most_words=MOST_WORDS))
        assume(pair is not None)
        shape, layouts = pair[0].shape, [form.layout for form in pair]
    else:
        shape = tuple(draw(st.lists(st.integers(1, 24), min_size=1, max_size=3)))
        layouts = [draw(layouts_of(shape, bits)) for _ in range(2)]
    assume(all(extent(layout, Level.ADDR) <= MOST_WORDS for layout in layouts))
    dtype = DType.INT if bits == 32 else DType.LONG
    return Case(shape, str(layouts[0]), shape, str(layouts[1]), None, dtype, draw(memories))


def check(case: Case) -> None:
    run_move(relay_plan(*case.forms), case)


@given(cases())
@settings(max_examples=100)
def test_hundred_pairs(case: Case) -> None:
    check(case)


@pytest.mark.slow
@given(cases())
@settings(max_examples=1000)
def test_thousand_pairs(case: Case) -> None:
    check(case)
