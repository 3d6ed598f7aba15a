"""Plans for random pairs of layouts: every copy is right, whatever lies around; plans do not depend on hashing."""

from __future__ import annotations

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pfcomp.ir.model import Location
from pfcomp.layout import Level
from pfcomp.relayout.exchange import exchange_plan
from tests.relayout.pairs import check, digit_pairs

locations = st.tuples(st.sampled_from([Location.LM0, Location.LM1]), st.sampled_from([Location.LM0, Location.LM1]))
bases = st.tuples(st.sampled_from([0, 4, 20]), st.sampled_from([0, 8, 36]))


def _run(pair, where, at):
    assume(pair is not None)
    source, target = pair
    plan = exchange_plan(source, target)
    assume(plan is not None)
    steps = check(source, target, plan, where, at)
    assert steps <= 2 * plan.steps + 40


@given(digit_pairs(levels=(Level.PE, Level.W)), locations, bases)
@settings(max_examples=12)
def test_inside_a_mab(pair, where, at):
    _run(pair, where, at)


@given(digit_pairs(levels=(Level.MAB, Level.PE, Level.W)), locations, bases)
@settings(max_examples=15)
def test_inside_an_l1b(pair, where, at):
    _run(pair, where, at)


@given(digit_pairs(), locations, bases)
@settings(max_examples=25)
def test_anywhere(pair, where, at):
    _run(pair, where, at)


@given(digit_pairs(bits=64), locations, bases)
@settings(max_examples=8)
def test_64_bits(pair, where, at):
    _run(pair, where, at)
