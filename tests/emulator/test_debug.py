"""Traces, stops and last writers."""

from pfcomp.emulator import Machine
from pfcomp.emulator.debug import last_writer, trace
from pfcomp.isa import parse
from pfcomp.isa.model import Place
from tests.emulator.chip import LM1, fetch

PROGRAM = parse('imm i"7" $lr0\nnop/2\nladd $peid $lr0 $ln4\nd get $ln4n0c0b0m0p1 1\nlinc $ln4 $ln4\nlpassa $lr0 $t')
PE = {"n": 0, "c": 0, "b": 0, "m": 0, "p": 1}


def test_trace_lists_writes_of_the_chosen_pes():
    entries = list(trace(Machine(), PROGRAM, [PE]))
    assert [entry.step for entry in entries] == [0, 1, 3, 4, 4, 5]
    assert entries[0].describe() == (
        'step 0 line 1: imm i"7" $lr0\n  GREG0(n0c0b0m0p1,0) = 0x0000000700000007'
    )  # fmt: skip
    assert entries[1].writes == ()
    assert entries[2].writes[0].value == 0x0000_0007_0000_0008
    assert entries[3].dump[0].startswith("DEBUG-LM1(n0c0b0m0p1,4):")
    assert [w.address for w in entries[5].writes] == [0, 1, 2, 3]


def test_stop_keeps_the_state_before_the_step():
    machine = Machine()
    assert len(list(trace(machine, PROGRAM, [PE], stop=4))) == 3
    assert int(fetch(machine, LM1, 3)[2, 1]) == 0x0000_0007_0000_0008


def test_last_writer():
    entry = last_writer(Machine(), PROGRAM, Place.LM1, PE, 5)
    assert entry is not None
    assert (entry.step, entry.line) == (4, 5)
    assert last_writer(Machine(), PROGRAM, Place.LM1, PE, 6) is None
