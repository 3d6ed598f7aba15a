"""Effects against formulas of isa.md written out again, one long word at a time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.isa import parse_op, parse_statement
from pfcomp.isa.effects import effects, long_words, move_spans
from pfcomp.isa.effects_ranges import RangeMap
from pfcomp.isa.model import Place

R4, R8, R16 = range(4), range(8), range(16)

# Operation -> words that isa.md 12.1 and 13 name, relative to the addresses $lb1024 and $lc2048.
TRANSFERS = {
    "l1bmp $lb1024 $lm0v": (set(R4), set()),
    "l1bmp $llb1024 $llm0v": ({c + 4 * h for c in R4 for h in (0, 1)}, set()),
    "l1bmm $lb1024 $lm0v": ({4 * c + p for c in R4 for p in R4}, set()),
    "l1bmm $llb1024 $llm0v": ({8 * c + 4 * h + p for c in R4 for p in R4 for h in (0, 1)}, set()),
    "l1bmm@3 $lm0v $lb1024": (set(), {4 * c + p for c in R4 for p in R4}),
    "l1bmrffadd $llm0v $llb1024": (set(), {8 * c + 4 * h + p for c in R4 for p in R4 for h in (0, 1)}),
    "l1bmm4 $lb1024 $lm0v": ({16 * c + 4 * g + p for c in R4 for g in R4 for p in R4}, set()),
    "l1bmr4liadd $lm0v $lb1024": (set(), {16 * c + 4 * g + p for c in R4 for g in R4 for p in R4}),
    "l1bmd $lb1024 $lm0v": ({64 * c + 4 * m + p for c in R4 for m in R16 for p in R4}, set()),
    "l1bmd $lm0v $lb1024": (set(), {64 * c + 4 * m + p for c in R4 for m in R16 for p in R4}),
}
L2BM = {
    "l2bmb $lc2048 $lb1024": ({16 * c + i for c in R4 for i in R16}, {16 * c + i for c in R4 for i in R16}),
    "l2bmb2 $lc2048 $lb1024": (
        {64 * c + 16 * h + i for c in R4 for h in R4 for i in R16}, {16 * c + i for c in R4 for i in R16}),
    "l2bmd $lc2048 $lb1024": (
        {64 * c + 8 * b + i for c in R4 for b in R8 for i in R8}, {8 * c + i for c in R4 for i in R8}),
    "l2bmd $lb1024 $lc2048": (
        {8 * c + i for c in R4 for i in R8}, {64 * c + 8 * b + i for c in R4 for b in R8 for i in R8}),
    "l2bm@2 $lb1024 $lc2048": ({16 * c + i for c in R4 for i in R16}, {16 * c + i for c in R4 for i in R16}),
    "l2bmr2lbor $lb1024 $lc2048": (
        {16 * c + i for c in R4 for i in R16}, {64 * c + 16 * h + i for c in R4 for h in R4 for i in R16}),
}  # fmt: skip


def words(spans, place, base):
    return {w - base for s in spans if s.place is place for w in range(s.start, s.stop)}


@pytest.mark.parametrize("text", TRANSFERS)
def test_l1bm_words(text):
    effect = effects(parse_op(text))
    reads, writes = TRANSFERS[text]
    assert words(effect.span_reads, Place.L1BM, 1024) == reads
    assert words(effect.span_writes, Place.L1BM, 1024) == writes


@pytest.mark.parametrize("text", L2BM)
def test_l2bm_words(text):
    effect = effects(parse_op(text))
    bases = {Place.L1BM: 1024, Place.L2BM: 2048}
    places = (Place.L2BM, Place.L1BM) if text.split()[1].startswith("$lc") else (Place.L1BM, Place.L2BM)
    for spans, place, expected in zip((effect.span_reads, effect.span_writes), places, L2BM[text], strict=True):
        assert words(spans, place, bases[place]) == expected


@pytest.mark.parametrize(("text", "members"), [
    ("l2bmb@3 $lc0 $lb0", {3}), ("l2bmb@4/3 $lc0 $lb0", {4, 5, 6, 7}), ("l2bmd@0/6 $lc0 $lb0", {0, 2, 4, 6}),
    ("l2bmb $lc0 $lb0", set(R8)),
])  # fmt: skip
def test_l1b_sets(text, members):
    (span,) = effects(parse_op(text)).span_writes
    assert {b for b in R8 if span.members >> b & 1} == members


def groups(place, words, members):
    return {(place, g, w) for g in members for w in words}


MOVES = {
    # C_{g,c}[ad+i] = D_q[as+32k+16c+o] with i = 64k+16q+o
    "mvb4/n128 $d64 $lc256": (
        {(Place.DRAM, q, 64 + 32 * k + 16 * c + o) for k in (0, 1) for q in R4 for c in (0, 1) for o in R16},
        {(Place.L2BM, j, 256 + i) for j in R8 for i in range(128)}),
    # D_q[ad+16k+o] = op over 8 of C[as+i]
    "mvrdfadd/n128 $lc256 $d64": (
        {(Place.L2BM, j, 256 + i) for j in R8 for i in range(128)},
        {(Place.DRAM, q, 64 + 16 * k + o) for k in (0, 1) for q in R4 for o in R16}),
    "mvr4dfadd/n128 $lc256 $d64": (
        {(Place.L2BM, j, 256 + i) for j in R8 for i in range(128)},
        {(Place.DRAM, q, 64 + 32 * k + 16 * c + o) for k in (0, 1) for q in R4 for c in (0, 1) for o in R16}),
    # C_{g,c}[ac+16k+o] <-> P[ap+i] with i = 128k+16j+o
    "mvd/n256 $p64@1 $lc256": (
        {(Place.PDM, 1, 64 + i) for i in range(256)},
        {(Place.L2BM, j, 256 + 16 * k + o) for j in R8 for k in (0, 1) for o in R16}),
    "mvd/n128 $d64 $p0@2": (
        {(Place.DRAM, q, 64 + 16 * k + o) for q in R4 for k in (0, 1) for o in R16},
        {(Place.PDM, 2, i) for i in range(128)}),
    "mvp/n64 $d64 $lc256@.1": (
        {(Place.DRAM, g, 64 + i) for g in R4 for i in range(64)},
        {(Place.L2BM, 2 * g + 1, 256 + i) for g in R4 for i in range(64)}),
    "mvp/n64 $lc256@3.0 $d64@1": (
        {(Place.L2BM, 6, 256 + i) for i in range(64)}, {(Place.DRAM, 1, 64 + i) for i in range(64)}),
    "mvb/n64 $p64@1 $lc256": (
        {(Place.PDM, 1, 64 + i) for i in range(64)}, {(Place.L2BM, j, 256 + i) for j in R8 for i in range(64)}),
}  # fmt: skip


def touched(spans):
    return {(s.place, m, w) for s in spans for m in R8 if s.members >> m & 1 for w in range(s.start, s.stop)}


@pytest.mark.parametrize("text", MOVES)
def test_move_words(text):
    reads, writes = move_spans(parse_statement(text))
    assert (touched(reads), touched(writes)) == MOVES[text]


def test_indirect_dram_reads_its_entries():
    reads, writes = move_spans(parse_statement("mvp/n256nd2 $di10 $lc0@.0"))
    assert touched(s for s in reads if s.place is Place.DAR) == {(Place.DAR, g, 10 + e) for g in R4 for e in R8}
    assert {(s.start, s.stop) for s in reads if s.place is Place.DRAM} == {(0, 1 << 29)}
    assert {s.place for s in writes} == {Place.L2BM}


def test_pe_accesses():
    effect = effects(parse_op("fvfma/1010 $lmt8v4 -$n[1,3,5,7] $mauf $lr2v/1000 $t $omr3 $llm0v/$imr2"))
    by_place = {a.place: a for a in effect.reads}
    assert by_place[Place.LM0].anywhere
    assert by_place[Place.LM1].cycles == (1, 3, 5, 7)
    assert by_place[Place.LM1].units == 1
    assert Place.T in by_place  # the index
    writes = {a.place: a for a in effect.writes}
    assert writes[Place.GRF0].enabled == 0b0001
    assert writes[Place.LM0].enabled == 0b1111
    assert writes[Place.LM0].units == 4
    assert effect.paths == (Place.MAUF,)
    assert effect.path is Place.MAUF
    assert [mask.entry for mask in effect.masks] == [24, 2, 26]


def test_neighbour_and_wrap():
    (access,) = effects(parse_op("lpassa $ln4094j1 $nowrite")).reads
    assert access.units == 4
    assert long_words(access) == (0, 2047)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.integers(1, 20), st.integers(0, 9)), max_size=30))
def test_range_map_against_a_list(steps):
    fast, slow = RangeMap(list), [None] * 64
    for put, start, length, value in steps:
        stop = start + length
        if put:
            fast.put(start, stop, [value])
            slow[start:stop] = [[value] for _ in range(length)]
        else:
            fast.update(start, stop, lambda cell, v=value: [*(cell or []), v])
            slow[start:stop] = [[*(cell or []), value] for cell in slow[start:stop]]
    for address in range(64):
        found = fast.found(address, address + 1)
        assert found == ([] if slow[address] is None else [slow[address]])
