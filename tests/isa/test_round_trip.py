"""Text and binary round trips of every mnemonic and of random programs."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfcomp.isa import decode, encode, op_errors, parse, parse_op, parse_statement, print_program
from pfcomp.isa.printer import format_op, format_statement
from pfcomp.isa.tables import MNEMONICS, spell_head

from . import strategies as own

quick = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("head", sorted(MNEMONICS))
def test_every_mnemonic_prints_and_parses_back(head):
    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
    @given(own.ops(head))
    def check(op):
        text = format_op(op)
        assert parse_op(text) == op
        assert format_op(parse_op(text)) == text
        assert op_errors(op) == ()
        assert text.split(" ")[0].startswith(spell_head(MNEMONICS[head]))

    check()


@quick
@given(own.programs)
def test_random_programs_round_trip_through_text(program):
    text = print_program(program)
    assert parse(text) == program
    assert print_program(parse(text)) == text


@quick
@given(own.programs)
def test_random_programs_round_trip_through_bytes(program):
    data = encode(program)
    assert decode(data) == program
    assert encode(decode(data)) == data


@quick
@given(own.statements)
def test_single_statements(statement):
    assert parse_statement(format_statement(statement)) == statement


@quick
@given(own.steps, st.randoms())
def test_order_of_pieces_is_free(step, random):
    if not step.ops:
        return
    pieces = format_statement(step).split("; ")
    random.shuffle(pieces)
    shuffled = parse_statement(" ;; ".join(pieces) + " ;  # comment")
    assert sorted(map(format_op, shuffled.ops)) == sorted(map(format_op, step.ops))
    assert sorted(shuffled.waits) == sorted(step.waits)
    assert shuffled.noforward == step.noforward


def test_line_numbers_are_kept_and_not_compared():
    program = parse("\n# nothing\nlinc $lm0 $ln0\n\nnop\nmvp/n64 $p0@0 $d0@0 ! end\n")
    assert [s.line for s in program.statements] == [3, 5, 6]
    assert program == parse("linc $lm0 $ln0\nnop\nmvp/n64 $p0@0 $d0@0")
    assert [s.line for s in decode(encode(program)).statements] == [0, 0, 0]
