"""Every rule: legal programs pass, broken ones get exactly that finding at the right statement."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.isa.check import RULES, check
from pfcomp.isa.model import Program
from tests.isa_check.snippets import SNIPPETS, legal_program

RULE_IDS = sorted(RULES)


def test_every_rule_has_a_snippet():
    assert set(SNIPPETS) == set(RULES)


@pytest.mark.parametrize("rule", RULE_IDS)
def test_legal_and_broken(rule):
    for seed in range(40):
        good, bad, at = SNIPPETS[rule](Random(seed))
        assert check(Program(tuple(good))) == (), seed
        findings = check(Program(tuple(bad)))
        assert {f.rule for f in findings} == {rule}, seed
        assert findings[0].index == at, seed
        assert findings[0].severity == RULES[rule].severity


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_random_legal_programs_are_accepted(seed, count):
    program, _ = legal_program(Random(seed), count)
    assert check(program) == ()


@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(RULE_IDS), st.integers(1, 12), st.data())
def test_a_mutation_names_the_broken_rule(seed, rule, count, data):
    place = data.draw(st.integers(0, count - 1))
    program, index = legal_program(Random(seed), count, (place, rule))
    findings = check(program)
    assert {f.rule for f in findings} == {rule}
    assert index in {f.index for f in findings}
