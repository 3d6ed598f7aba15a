"""The tables agree with each other and with the counts of isa.md."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

import pfcomp.isa
from pfcomp.isa import form_of, op_errors, parse, parse_op
from pfcomp.isa.model import Address, Operand, Place, Unit
from pfcomp.isa.movetext import move_form_of
from pfcomp.isa.tables import (
    MAPPINGS,
    MASK_MEMORIES,
    MNEMONICS,
    MODES,
    MOVE_FORMS,
    OPS,
    PLACES,
    REDUCTIONS,
    TRANSFERS,
    find_heads,
    spell_head,
)
from pfcomp.isa.tables_forms import Direction


def test_public_names():
    assert set(pfcomp.isa.__all__) == {
        "MNEMONICS", "OPS", "PLACES", "REDUCTIONS", "AsmError", "Problem", "decode", "encode", "form_of", "format_op",
        "format_operand", "format_statement", "op_errors", "parse", "parse_lines", "parse_op", "parse_operand",
        "parse_statement", "print_program", "role_errors",
    }  # fmt: skip
    assert all(hasattr(pfcomp.isa, name) for name in pfcomp.isa.__all__)


def test_every_place_has_a_row():
    assert set(PLACES) == set(Place)
    assert {letter for info in PLACES.values() for letter in info.mask_letter} == set(MASK_MEMORIES) == set("rstmnk")
    for letter, places in MASK_MEMORIES.items():
        assert all(PLACES[p].mask_letter == letter for p in places)


def test_sizes_of_the_memories():
    sizes = {p: PLACES[p].size for p in (Place.LM0, Place.LM1, Place.GRF0, Place.GRF1, Place.L1BM, Place.L2BM)}
    assert list(sizes.values()) == [4096, 4096, 512, 512, 8192, 32768]
    assert PLACES[Place.DRAM].size * 8 == 4 << 30
    assert PLACES[Place.PDM].size * 8 == 4 << 20


def test_every_unit_has_operations():
    assert {info.unit for info in OPS.values()} | {Unit.L1BM_TURNAROUND} == set(Unit)
    assert all(find_heads(info) for info in OPS.values())


def test_heads_are_canonical_or_known_variants():
    for head, mnemonic in MNEMONICS.items():
        canonical = spell_head(mnemonic)
        assert MNEMONICS[canonical] is mnemonic
        assert head == canonical or mnemonic.info.aliases or mnemonic.half_select


def test_transfers_and_reductions():
    assert set(TRANSFERS) == {n for n in OPS if n.startswith(("l1b", "l2b")) and n != "l2bmdarw"}
    assert len(REDUCTIONS) == 3 * 3 + 5 * 3
    assert "lxor" not in REDUCTIONS
    assert {r.name for r in REDUCTIONS.values() if r.two_long} == {
        "ffadd", "fmax", "fmin", "hfadd", "hmax", "hmin", "lbor", "ibor", "sbor",
    }  # fmt: skip


def test_moves():
    assert {f.mode for f in MOVE_FORMS} == set(MODES)
    assert {f.mapping for f in MOVE_FORMS} == set(MAPPINGS)
    (move,) = parse("mvd/n128 $di0 $p0@0").statements
    assert move_form_of(move).mapping == "collect-groups"


@pytest.mark.parametrize(
    ("text", "direction"),
    [
        ("l1bmd $lb0 $lm0v", Direction.DOWN),
        ("l1bmd $lm0v $lbi", Direction.UP),
        ("l1bmm@0 $lm0v $lb0", Direction.UP),
        ("l2bmd $lc0 $lb0", Direction.DOWN),
        ("l2bmd $lb0 $lc0", Direction.UP),
        ("l2bmi@0/3 $lb0 $lb0", Direction.SIDE),
        ("l2bmdarw", Direction.NONE),
        ("linc $lm0 $ln0", Direction.PE),
    ],
)
def test_form_of_an_operation(text, direction):
    assert form_of(parse_op(text)).direction is direction


def test_errors_of_operations_made_by_hand():
    good = parse_op("l1bmd+1 $lb0 $lr0v")
    assert op_errors(good) == ()
    lm = Operand(Place.LM0, 2, Address(0))
    bad = [
        replace(good, name="l1bmz"),
        replace(good, precision="q"),
        replace(good, shift=16),
        replace(good, select=1),
        replace(good, mantissa=7),
        replace(good, unit=Unit.ALU),
        replace(good, sources=()),
        replace(good, destinations=()),
        replace(good, immediate=parse_op('imm i"1" $lr0').immediate),
        replace(parse_op("linc $lm0 $ln0"), shift=0),
        replace(parse_op("l2bm@1 $lb0 $lc0"), select=None),
        replace(parse_op("l2bmi@1 $lb0 $lb0"), l1b_set=None),
        replace(parse_op("zero $lm0"), sources=(lm,)),
    ]
    assert all(op_errors(op) for op in bad)


def test_parsing_is_fast():
    lines = [
        f"fvfma $lr{i % 64 * 8}v -$lm{i % 512 * 8}v $ls{i * 3 % 64 * 8}v $nowrite; lpassa $aluf $ln{i}v"
        for i in range(5000)
    ]
    text = "\n".join(lines)
    start = time.perf_counter()
    program = parse(text)
    assert time.perf_counter() - start < 3  # about 0.15 s on an idle machine
    assert program.steps == 5000
