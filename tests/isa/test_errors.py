"""What is said about wrong text: every bad line at once, where it is, and what would be legal."""

from __future__ import annotations

import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfcomp.errors import SourceError
from pfcomp.isa import AsmError, parse, parse_lines, parse_op, parse_operand, parse_statement, print_program

from . import strategies as own

quick = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))

BAD = {
    "fvad $lm0 $ln0 $lr0": "did you mean fvadd",
    "FVADD $lm0 $ln0 $lr0": "did you mean fvadd",
    "$lm0 $ln0": "is an operand where an operation should start",
    "ladd $lm0": "ladd takes 2 sources, found 1",
    "linc $lm0": "linc needs a destination; write $nowrite for none",
    "ladd $lm0 $peid $ln0": "$peid cannot be the second ALU input of ladd; legal: PE memory ($m $n $r $s), $t, $mauf",
    "fvadd $mreadf $lm0 $ln0": "$mreadf cannot be the MAU factor",
    "linc $lm0 $nowrite/1000": "a write mask is possible on written memories only",
    "linc $lm0/1000 $ln0": "a write mask is possible on written memories only",
    "linc -$lm0 $ln0": "cannot be negated",
    "linc $lm0 $lq0": "'$lq0' is not an operand",
    "linc lm0 $ln0": "operands start with $",
    "linc $lm $ln0": "has no address",
    "linc $lrt0 $ln0": "only LM0",
    "linc $lmt0j1 $ln0": "j1 goes with LM0 and LM1 only",
    "linc $lr0j1 $ln0": "j1 goes with LM0 and LM1 only",
    "linc $lm99999999999 $ln0": "is not an operand",
    "linc $lm4294967296 $ln0": "too large",
    "linc $lm0 $omr0": "entries 1 to 15 can",
    "linc $lm0 $ln0/$imr32": "mask entry 32 does not exist",
    "linc $lm0 $ln0/100": "is not a mask",
    "fvadd $lm0r $ln0 $lr0": "the suffix r is not possible on the MAU factor of fvadd",
    "hmread $lx0 $ln0v": "hmread takes matrix rows as two long words",
    "dmwrite $lr0v $lx": "dmwrite takes the matrix with a row",
    "dmwrite $lr0v $llx0": "dmwrite takes matrix rows as long word",
    "dmmulu $lx0 $ls0v $nowrite": "dmmulu takes the matrix without a row",
    "dvmul $lm0 $ln0 $nowrite": "did you mean dvmulu",
    "fvfma $lm0 $ln0 $lr0 " + "$lr0 " * 9: "takes at most 8 destinations",
    "hbfn/5 $lm0 $ln0": "hbfn and hbfe take /6 to /9",
    "fbfn/9 $lm0 $ln0": "hbfn and hbfe take /6 to /9",
    "linc/10 $lm0 $ln0": "'10' is not a mask",
    "linc/1010/1010 $lm0 $ln0": "one modifier too many",
    "linc/1010t $lm0 $ln0": "a zero-flush mask has no t",
    "dmwrite/1010 $lm0 $lx0": "dmwrite takes no zero-flush mask here",
    "l1bmd/1010 $lm0 $lb0": "l1bmd takes no zero-flush mask here",
    "linc@3 $lm0 $ln0": "takes no @3",
    "linc+3 $lm0 $ln0": "takes no shift",
    "l1bmm@16 $lm0v $lb0": "a number from 0 to 15",
    "l1bmm@5 $lb0 $lm0v": "$lb0 cannot be the PE source of l1bmm",
    "l1bmd+16 $lb0 $lr0": "between -15 and +15",
    "l1bmd $llb0 $lr0": "must be a long word",
    "l1bmd $lb0 $lb64": "$lb64 cannot be the destination of l1bmd",
    "l2bmb@4/8 $lc0 $lb0": "is not a set of L1Bs",
    "l2bmb@1,2 $lc0 $lb0": "nearest: 0,1,2,3",
    "l2bmi $lb0 $lb0": "l2bmi needs @",
    "l2bm $lb0 $lc0": "l2bm needs @",
    "l2bmb $lc0@.0 $lb0": "leave out @...",
    "l2bmdars $lc0 $dar0": "needs the L2B",
    "l2bmdarw $lb0": "l2bmdarw takes no operands",
    "l1bmrxfadd $lm0 $lb0": "did you mean l1bmr",
    'imm f"abc" $lr0': "is not a number",
    'imm f"nan" $lr0': "is not a number",
    'imm i"1.5" $lr0': "is not an integer",
    'imm i"99999999999" $lr0': "out of range for i",
    'imm ui"-1" $lr0': "out of range for ui",
    'imm q"1" $lr0': "unknown literal type 'q'",
    "imm $lr0": "needs a literal",
    "imm": "needs a literal",
    "wait i01": "wait may not stand alone",
    "nop; wait": "wait takes one tag",
    "nop; wait i00": "tag i00 is not allowed",
    "nop; wait 01": "is not a tag",
    "nop; linc $lm0 $ln0": "nop may share its line with wait only",
    "nop; noforward": "nop may share its line with wait only",
    "nop; nop": "nop stands twice",
    "nop/0": "N of at least 1",
    "nop/x": "N of at least 1",
    "noforward; noforward": "noforward stands twice",
    "nop nop": "nop takes no operands",
    "mvp/n64 $d0@1 $lc0": "mvp cannot move $d0@1 $lc0; legal: $d<a>@n $lc<a>@n.c",
    "mvp/n64 $lc0@0 $d0": "an L2BM location needs its L2B",
    "mvp/n64 $lc0@4.0 $d0": "groups are 0 to 3",
    "mvp/n64 $lc0@0.2 $d0": "L2Bs 0 and 1",
    "mvp/n64 $d0@ $lc0": "the location is @n",
    "mvq/n64 $d0 $lc0": "did you mean mv",
    "mvr/n64 $lc0 $d0": "mvr needs a reduction",
    "mvpdfadd/n64 $lc0 $d0": "mvp takes no reduction",
    "mvp $d0 $p0": "write /n<size>",
    "mvp/n64i00 $d0@0 $p0@0": "tag i00",
    "mvp/n64i01i02 $d0@0 $p0@0": "given twice",
    "mvp/n64p4 $d0@0 $p0@0": "the priority is p0 to p3",
    "mvp/n64nd2 $d0@0 $p0@0": "nd2 goes with a $di operand only",
    "mvp/n64nd0 $di0@0 $p0@0": "at least one block",
    "mvp/n64 -$d0@0 $p0@0": "take no sign",
    "mvp/n64 $d0@0": "takes a source and a destination",
    "mvp/n64 $d0@0 $p0@0; nop": "stands alone",
    "mvnop 1": "mvnop takes no operands",
    "mask": "takes one mask entry",
    "mask 32": "mask entry 32 does not exist",
    "maskz 1": "is not a mask statement",
    "d foo": "is not a debug statement",
    "d": "is not a debug statement",
    "d get $lm0n4 1": "n must be 0 to 3",
    "d get $lb0m1 1": "this memory has no id m; it has ncb",
    "d get $lx0n0 1": "matrix registers need a type",
    "d get $lm0 0": "is not a count",
    "d get $lm0": "takes a memory and a count",
    "d get $lmn0 1": "has no address",
    "d get $foo 1": "is not a memory and location",
    "d set $d0n0 1 0000000000000000": "cannot be written by d set",
    "d set $omr1 1 0000000000000000": "cannot be written by d set",
    "d set $lm0 2 00": "has 2 hex digits; 2 long words need 32",
    "d set $lm0 1 0000_0000_0000_0000": "the payload must be hex digits",
    "d set $lm0 1": "takes a memory, a count and a payload",
    "r 0 0 0 0": "an r line is",
    "r 0 fffffffff 001 0000000000000000": "outside the group's DRAM",
    "r 0 000000000 000 00": "at least one long word",
    "c 1": "a c line has seven or eight fields",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD)
def test_message(text):
    with pytest.raises(SourceError) as caught:
        parse(text, "prog.vsm")
    message = str(caught.value)
    assert message.startswith("PF0101: 1 bad line of assembly\nprog.vsm:1:")
    assert BAD[text] in message


def test_all_bad_lines_are_reported_at_once():
    lines = [*BAD, "linc $lm0 $ln0"]
    program, problems = parse_lines("\n".join(lines))
    assert [p.line for p in problems] == list(range(1, len(BAD) + 1))
    assert len(program.statements) == 1
    with pytest.raises(AsmError) as caught:
        parse("\n".join(lines), "x.vsm")
    assert caught.value.problems == problems
    assert caught.value.exit_code == 3
    assert len(str(caught.value).splitlines()) == len(BAD) + 1


def test_column_of_the_bad_token():
    (problem,) = parse_lines("  linc $lm0 $ln0; linc $lq0 $nowrite")[1]
    assert (problem.line, problem.column) == (1, 24)


def test_single_pieces():
    for call, text in ((parse_op, "linc"), (parse_op, ""), (parse_operand, "lm0"), (parse_statement, "")):
        with pytest.raises(SourceError):
            call(text)
    with pytest.raises(SourceError, match="expected one statement, found 2"):
        parse_statement("nop\nnop")


@pytest.mark.parametrize(
    "text",
    [
        f"d set $lm0 2 {'0' * 5000}x",
        "r 0 000000000 001 " + "0" * 5000 + "x",
        "linc " + "$lm0" * 5000,
        "linc" + "/1" * 5000,
        "mvp/n64" + "i01" * 5000 + "x $d0 $p0",
        'imm f"' + "1" * 5000 + '" $lr0',
        "c " + "0 " * 5000,
        "l2bmb@" + "1," * 5000 + " $lc0 $lb0",
        "mask" + "r" * 5000 + "z 1",
        "z" * 50000,
        "; " * 50000 + "x",
    ],
    ids=range(11),
)
def test_long_nonsense_is_refused_quickly(text):
    start = time.perf_counter()
    with pytest.raises(SourceError):
        parse(text)
    assert time.perf_counter() - start < 1


@quick
@given(st.text(max_size=80))
def test_random_text_gives_source_errors_only(text):
    _parse_or_source_error(text)


@quick
@given(own.programs.map(print_program), st.data())
def test_mutated_lines_give_source_errors_only(text, data):
    if not text:
        return
    for _ in range(3):
        at = data.draw(st.integers(0, len(text)))
        piece = data.draw(
            st.sampled_from(["", "$", "/", "-", "@", ";", "0", "v", "ll", "[", "\n", " ", "j4", "\u0661", "i"])
        )
        text = text[:at] + piece + text[at + data.draw(st.integers(0, 2)) :]
    _parse_or_source_error(text)


def _parse_or_source_error(text):
    try:
        program = parse(text)
    except SourceError as error:
        assert error.code == "PF0101"  # noqa: PT017
    else:
        assert parse(print_program(program)) == program
