"""Lines of isa.md with their expected reading, and the programs of the vector file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pfcomp.isa import decode, encode, parse, parse_op, parse_operand, parse_statement, print_program
from pfcomp.isa.model import Address, L1BSet, MaskRef, Operand, Place, Step, Unit
from pfcomp.isa.printer import format_operand, format_statement

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "isa_vectors.json").read_text())["vectors"]

# isa.md 5.3, 6, 9 to 11, 14: operand examples and what they mean.
OPERANDS = {
    "$lm8v": Operand(Place.LM0, 2, Address(8, 2)),
    "$ln0v16": Operand(Place.LM1, 2, Address(0, 16)),
    "$m[1,3,5,7]": Operand(Place.LM0, 1, Address(0, 0, (1, 3, 5, 7))),
    "$lr24v/1000": Operand(Place.GRF0, 2, Address(24, 2), mask=MaskRef(24)),
    "$llr0v/$llimr1": Operand(Place.GRF0, 4, Address(0, 4), mask=MaskRef(1, "ll")),
    "-$ls4": Operand(Place.GRF1, 2, Address(4), negate=True),
    "$llm0vr": Operand(Place.LM0, 4, Address(0, 4), suffix="r"),
    "$lr0e": Operand(Place.GRF0, 2, Address(0), suffix="e"),
    "$lm32ve": Operand(Place.LM0, 2, Address(32, 2), suffix="e"),
    "$lm2048v4j0": Operand(Place.LM0, 2, Address(2048, 4, neighbour=0)),
    "$lmt128v32": Operand(Place.LM0, 2, Address(128, 32, indirect=True)),
    "$lmt": Operand(Place.LM0, 2, Address(0, indirect=True)),
    "$lmt[0,8,16,24]": Operand(Place.LM0, 2, Address(0, 0, (0, 8, 16, 24), indirect=True)),
    "$llmt16v16": Operand(Place.LM0, 4, Address(16, 16, indirect=True)),
    "$ls34v4": Operand(Place.GRF1, 2, Address(34, 4)),
    "$lr[128,128,128,0]": Operand(Place.GRF0, 2, Address(0, 0, (128, 128, 128, 0))),
    "$lm0vj0": Operand(Place.LM0, 2, Address(0, 2, neighbour=0)),
    "$t": Operand(Place.T, 4),
    "$lt": Operand(Place.T, 4),
    "$llt": Operand(Place.T, 4),
    "$maufr": Operand(Place.MAUF, 4, suffix="r"),
    "-$aluf": Operand(Place.ALUF, 4, negate=True),
    "$mb": Operand(Place.BAR0, 1),
    "$lnb": Operand(Place.BAR1, 2),
    "$omr1/$imr2t": Operand(Place.MASK, 2, Address(1), mask=MaskRef(2, "", "t")),
    "$lr0/ll0101p": Operand(Place.GRF0, 2, Address(0), mask=MaskRef(21, "ll", "p")),
    "$lr0/$limr20": Operand(Place.GRF0, 2, Address(0), mask=MaskRef(20, "l")),
    "$lb256": Operand(Place.L1BM, 2, Address(256)),
    "$llbi": Operand(Place.TURNAROUND, 4),
    "$lx": Operand(Place.MATRIX_X, 2),
    "$lly8": Operand(Place.MATRIX_Y, 4, Address(8)),
    "$lc64@1.0": Operand(Place.L2BM, 2, Address(64), group=1, l2b=0),
    "$lc0@.1": Operand(Place.L2BM, 2, Address(0), l2b=1),
    "$d32@3": Operand(Place.DRAM, 2, Address(32), group=3),
    "$di5": Operand(Place.DRAM_INDIRECT, 2, Address(5)),
    "$p0@0": Operand(Place.PDM, 2, Address(0), group=0),
    "$dar7": Operand(Place.DAR, 2, Address(7)),
    "$msb1": Operand(Place.MSB1, 4),
}

# Lines of isa.md (5 to 22) that no vector holds, with their canonical text where it differs.
LINES = {
    "nop; wait i01": None,
    "nop/2": None,
    "noforward": None,
    "fvmul $lr0v $lr0v $ln0v": None,
    "l1bmm $lbi $ln32v ; l1bmrdfadd $mauf $lbi": "l1bmm $lbi $ln32v; l1bmrdfadd $mauf $lbi",
    "lpassa $llm0v $lln0v $llr0v": None,
    "lpassa $lm0v $omr1/$imr2": None,
    "maskr 1": None,
    "maskmnrs 3": "maskrsmn 3",
    "maskll 31": None,
    "hbfn/6/1100 $llm0vr $lr0v": None,
    "hbfe $lm0v $lr0v": None,
    "hmwrite $llm0vr $ly0": None,
    "hvadd $lm0v $llr0e $ln0v": None,
    "imm f\"inf\" $lr0": None,
    "imm/$llimr3 us\"0b11\" $lr0 $t $omr1": None,
    "frelu0 $mauf $ln76 $nowrite": "frelu $mauf $ln76 $nowrite",
    "dvfmaru $lm0v $ln0v $ls0v $r0v": "dvfmaur $lm0v $ln0v $ls0v $r0v",
    "l1bmd+0 $lb0 $lr0v": None,
    "l1bmm4@3 $llm0v $llb0": None,
    "l1bmrffaddr $lm0ve $lb0": None,
    "l1bmrffaddr $llm0v $llb0": None,
    "l2bmb@0,2,4,6 $lc0 $lb0": "l2bmb@0/6 $lc0 $lb0",
    "l2bmi@3/4 $lb0 $lb64": None,
    "l2bmdars $lc0@.1 $dar0": None,
    "l2bmdarw": None,
    "mvnop": None,
    "mvp/n64i9Fnd2p3 $di0 $lc0@.0": "mvp/n64i9fnd2p3 $di0 $lc0@.0",
    "mvrdfadd/n64 $lc0 $p0@0": None,
    "mvd/n4096 $lc0 $p0@0": None,
    "d get $tn0c0b0m0p0 4": "d get $ltn0c0b0m0p0 4",
    "d  getbf   $lx0n0   2": "d getbf $lx0n0 2",
    "d get $m0 1": None,
    "d set $lm0n1 1 000000000000abcd": "d set $lm0n1 1 000000000000ABCD",
    "d set $lb0 2 l0000000000000001 i3f800000 s3e00h0001": (
        "d set $lb0 2 00000000000000013F8000003E000001"
    ),
    "r 2 000000010 001 00000000000000ff": "r 2 000000010 001 00000000000000FF",
}  # fmt: skip


@pytest.mark.parametrize("text", OPERANDS)
def test_operands(text):
    assert parse_operand(text) == OPERANDS[text]
    assert parse_operand(format_operand(OPERANDS[text])) == OPERANDS[text]


@pytest.mark.parametrize("text", LINES)
def test_lines(text):
    statement = parse_statement(text)
    canonical = LINES[text] or text
    assert format_statement(statement) == canonical
    assert parse_statement(canonical) == statement


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["name"])
def test_vector_programs(vector):
    text = "\n".join(vector["program"])
    program = parse(text)
    assert parse(print_program(program)) == program
    assert decode(encode(program)) == program
    for line in vector.get("expected_dump", []):
        echo = line.partition(" #")[2]
        assert echo in print_program(program).splitlines()


def test_fields_of_operations():
    op = parse_op("uilsr/1010 $lm0v $lr0 $ln2 $omr3")
    assert (op.name, op.precision, op.unsigned, op.unit) == ("lsr", "i", True, Unit.ALU)
    assert op.zero_flush == MaskRef(26)
    assert [o.place for o in op.destinations] == [Place.LM1, Place.MASK]
    assert parse_op("l1bmrlor $lm0 $lb0").reduction == "lor"
    assert parse_op("l1bmd-15 $lm0v $lb0").shift == -15
    assert parse_op("l1bmm@5 $lm0v $lb0").select == 5
    assert parse_op("l2bmrliadd@2/1 $lb0 $lc0").l1b_set == L1BSet(2, 1)
    assert parse_op("l1bmm $lbi $ln0v").unit is Unit.L1BM_TURNAROUND
    assert parse_op("l2bmdarw").unit is Unit.DAR_WRITE
    assert parse_op("dvfmaur $lm0v $ln0v $ls0v $r0v").half_select == "u"


def test_members_of_l1b_sets():
    assert L1BSet(0, 7).members() == tuple(range(8))
    assert L1BSet(4, 3).members() == (4, 5, 6, 7)
    assert parse_op("l2bmb@7,5 $lc0 $lb0").l1b_set.members() == (5, 7)


def test_nop_counts_and_quit():
    program = parse("nop/3; wait i0a\nnop\nquit\nthis is never read")
    assert program.statements == (Step((), (10,), False, 3), Step())
    assert program.steps == 4


def test_empty_lines_separators_and_host_records():
    text = " ; ;\r\n\t# comment\n! other\nc 0 0 i10 i00 0 000022000 001 0000000000000000\nnop ;\r\n"
    assert parse(text).statements == (Step(),)
    assert parse("").statements == ()
    assert print_program(parse("")) == ""
