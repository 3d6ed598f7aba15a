"""GPFNBin: damaged, foreign and hand-forged bytes; canonical and compact form."""

from __future__ import annotations

import hashlib
import struct
import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pfcomp.errors import ArtifactError, SourceError
from pfcomp.isa import decode, encode, parse, parse_op
from pfcomp.isa.binfields import DTYPES, HEADER, RECORDS, SECTIONS
from pfcomp.isa.model import Address, DebugGet, Move, Operand, Place, Program, SetMask, Step

from . import strategies as own

quick = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))

TEXT = """
d set $lm0n0c0b0m0p0 2 00000000000000010000000000000002
maskrn 3
mvp/n64i01nd2p1 $di0 $lc0@.0
mvrdfadd/n64 $lc0 $p0@0
nop; wait i01
l2bmb@4/3 $lc0 $lb0
imm f"1.5" $lr0 $t; l1bmm@3 $lm0v $lb0
fvfma $lm[0,2,4,6] -$t $aluf $lr0v/$imr1 $omr2; hbfn/9/1100 $lbf $ls8v; l1bmd-3 $lb64 $nowrite
dvmulu $lmt8v4 $ln0v $nowrite
noforward
nop/12
mvnop
d getf $lm0n0 4
"""
DATA = encode(parse(TEXT))


def _sealed(body):
    return body + hashlib.sha256(body).digest()


def test_round_trip_of_the_sample():
    assert decode(DATA) == parse(TEXT)
    assert encode(decode(DATA)) == DATA
    assert decode(encode(Program(()))) == Program(())


def test_every_truncation_is_an_artifact_error():
    for size in range(len(DATA)):
        with pytest.raises(ArtifactError):
            decode(DATA[:size])
    with pytest.raises(ArtifactError):
        decode(DATA + b"\0")


def test_every_flipped_bit_is_an_artifact_error():
    for at in range(len(DATA)):
        for bit in (1 << at % 8, 0x80):
            with pytest.raises(ArtifactError):
                decode(DATA[:at] + bytes([DATA[at] ^ bit]) + DATA[at + 1 :])


@quick
@given(st.binary(max_size=400))
def test_random_bytes_are_an_artifact_error(data):
    for body in (data, DATA[: HEADER.itemsize] + data, DATA[:12] + data):
        with pytest.raises(ArtifactError):
            decode(body)


def _decode_or_none(data):
    try:
        return decode(data)
    except ArtifactError as error:
        return None if error.code == "PF0104" else pytest.fail(f"unexpected {error}")


def test_forged_bytes_with_a_right_checksum_never_crash():
    """Every byte of the body changed to some other values: a program or ArtifactError, nothing else."""
    body = DATA[:-32]
    forged = [
        _decode_or_none(_sealed(body[:at] + bytes([value]) + body[at + 1 :]))
        for at in range(HEADER.itemsize, len(body))
        for value in (0, 7, 0xFF)
    ]
    assert forged.count(None) > 500
    assert all(decode(encode(program)) == program for program in forged if program is not None)


@quick
@given(own.programs, st.data())
def test_forged_random_programs_never_crash(program, data):
    body = bytearray(encode(program)[:-32])
    for _ in range(data.draw(st.integers(1, 4))):
        if len(body) > HEADER.itemsize:
            body[data.draw(st.integers(HEADER.itemsize, len(body) - 1))] = data.draw(st.integers(0, 255))
    _decode_or_none(_sealed(bytes(body)))


def test_huge_counts_are_refused_before_memory_is_taken():
    for name in SECTIONS:
        header = np.frombuffer(DATA, HEADER, 1).copy()
        header[0][f"{name}_count"] = 0xFFFFFFFF
        with pytest.raises(ArtifactError, match="its header says otherwise"):
            decode(_sealed(header.tobytes() + DATA[HEADER.itemsize : -32]))


def test_version_and_foreign_bytes_have_their_own_code():
    foreign = (b"", b"PK\x03\x04", DATA[:8] + struct.pack("<I", 99) + DATA[12:], DATA[:12] + b"abcd" + DATA[16:])
    for data in foreign:
        with pytest.raises(ArtifactError) as caught:
            decode(data)
        assert caught.value.code == "PF0103"


LM = Operand(Place.LM0, 2, Address(0))
TOO_LARGE = [
    Step((replace(parse_op("linc $lm0 $ln0"), destinations=(Operand(Place.LM1, 2, Address(1 << 32)),)),)),
    Step((replace(parse_op("linc $lm0 $ln0"), destinations=(Operand(Place.LM1, 3, Address(0)),)),)),
    Step((), (256,)),
    Step((), (-1,)),
    Step(repeat=0),
    SetMask("nr", 1),
    SetMask("", 32),
    DebugGet("", LM, (("p", 0), ("n", 0)), 1),
    DebugGet("", LM, (("n", 4),), 1),
    Move("p", 1 << 33, LM, LM),
    Move("q", 64, LM, LM),
]


@pytest.mark.parametrize("statement", TOO_LARGE, ids=str)
def test_what_does_not_fit_is_a_source_error(statement):
    with pytest.raises(SourceError) as caught:
        encode(Program((statement,)))
    assert caught.value.code == "PF0102"


def test_illegal_operations_are_refused_when_read():
    bad = replace(parse_op("linc $lm0 $ln0"), sources=(Operand(Place.MATRIX_X, 2),))
    with pytest.raises(ArtifactError, match="cannot be the first ALU input"):
        decode(encode(Program((Step((bad,)),))))


def test_equal_programs_give_equal_bytes_whatever_they_share():
    line = "linc $lm0 $ln0; fvadd $lr0 $ls0 $t"
    shared = parse(line + "\n" + line)
    apart = Program(tuple(Step(tuple(replace(op) for op in s.ops)) for s in shared.statements))
    assert apart.statements[0].ops[0] is not apart.statements[1].ops[0]
    assert encode(shared) == encode(apart)


def test_records_are_fixed_width():
    assert {name: DTYPES[name].itemsize for name in RECORDS} == {
        "literal": 7, "operand": 37, "op": 25, "step": 8, "move": 25, "mask": 3, "get": 14, "set": 13,
    }  # fmt: skip


def test_fifty_thousand_statements_are_fast():
    lines = [f"fvadd $lm{i % 512 * 8}v $ln0v $lr{i % 32 * 8}v; l1bmd $lb{i % 32 * 256} $nowrite" for i in range(50_000)]
    program = parse("\n".join(lines))
    start = time.perf_counter()
    data = encode(program)
    middle = time.perf_counter()
    assert decode(data) == program
    assert middle - start < 5
    assert time.perf_counter() - middle < 10
    assert len(data) < 50_000 * 24
