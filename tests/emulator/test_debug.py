"""Breakpoints, traces, the log of last writers."""

import re
from pathlib import Path

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.debug import (
    DebugMachine,
    NodeSpan,
    Positions,
    Trace,
    Unit,
    WriteLog,
    parse_spot,
    parse_unit,
)
from pfcomp.emulator.debug.areas import area_of
from pfcomp.emulator.debug.writes import micro_writes, written_spans
from pfcomp.errors import UsageError
from pfcomp.isa import parse
from pfcomp.isa.model import Place
from tests.emulator.chip import LM1, fetch
from tests.emulator.test_engines_agree import Writer, initial, prepared, state_of

PROGRAM = """\
imm i"7" $lr0
nop/2
ladd $peid $lr0 $ln4
d get $ln4n0c0b0m0p1 1
linc $ln4 $ln4
lpassa $lr0 $t
"""
NODES = (NodeSpan(0, 3, "a", "Constant"), NodeSpan(2, 5, "add_1", "Add, add.py:12"))


def run(text, *observers, **options):
    machine = DebugMachine(observers, **options)
    return machine, machine.run(machine.load(parse(text)))


def traced(text, *units):
    lines = []
    run(text, Trace([parse_unit(unit) for unit in units or ["n0c0b0m0p0"]], lines.append))
    return lines


def who(text, *places):
    machine = DebugMachine()
    log = WriteLog([parse_spot(place) for place in places])
    log.attach(Place.DRAM, machine.dram)
    log.attach(Place.PDM, machine.pdm)
    machine.observers = (log,)
    machine.dram.write(0, 16, [1, 2])
    machine.run(machine.load(parse(text)))
    return [line.split(": ", 1)[1].removeprefix("last written by ") for line in log.lines()]


def test_trace_lists_what_each_step_stored():
    assert traced(PROGRAM, "n0c0b0m0p1") == [
        'step 0, line 1: imm i"7" $lr0',
        "  n0c0b0m0p1 GRF0[0] 0x0000000000000000 -> 0x0000000700000007",
        "step 1, line 2: nop/2",
        "step 3, line 3: ladd $peid $lr0 $ln4",
        "  n0c0b0m0p1 LM1[4] 0x0000000000000000 -> 0x0000000700000008",
        "step 4, line 5: linc $ln4 $ln4",
        "  n0c0b0m0p1 LM1[4] 0x0000000700000008 -> 0x0000000700000009",
        "step 5, line 6: lpassa $lr0 $t",
        *[f"  n0c0b0m0p1 T[{i}] 0x0000000000000000 -> 0x0000000700000007" for i in range(4)],
        *[f"  n0c0b0m0p1 T.LW1[{i}] 0x0000000000000000 -> 0x0000000000000000" for i in range(4)],
    ]


ONE_STEP = [
    ("lpassa $lr0 $ln0", ["LM1[0] 0x0000000000000000 -> 0x0000000000000000"]),  # equal values count
    ("ipassa $subpeid $n3", ["LM1[2] 0x0000000000000000 -> 0x0000000000000001"]),
    ("ipassa $subpeid $omr2", [f"OMR2[{cycle}] 0x0 -> 0x0" for cycle in range(4)]),
    ("ipassa $l1bid $omr2/0100", ["OMR2[1] 0x0 -> 0xf"]),
    ("ipassa $subpeid $mb", ["BAR0 0x000 -> 0x001"]),
    ("lpassa $peid $ln8v/0010", ["LM1[12] 0x0000000000000000 -> 0x0000000000000001"]),
    ("lpassa $peid $lm[0,8,16,8]j1", [f"LM0[{a}] 0x0000000000000000 -> 0x0000000000000001" for a in (2, 10, 18)]),
    ("dmwrite $lr0 $lx3", [f"MATRIX_X[{row}] 0x0000000000000000 -> 0x0000000000000000" for row in range(4)]),
    ("d set $ln6n0c0b0m0p1 1 00000000000000ff", ["LM1[6] 0x0000000000000000 -> 0x00000000000000ff"]),
    ("d set $n7 1 000000ff00000000", ["LM1[6] 0x0000000000000000 -> 0x00000000000000ff"]),
    ("d set $t2 1 00000000000000ff", ["T[2] 0x0000000000000000 -> 0x00000000000000ff"]),
    ("d set $ln6n0c0b0m0p0 1 00000000000000ff", []),
    ("noforward", []),
    ("lpassa $peid $nowrite", []),
]


@pytest.mark.parametrize(("text", "expected"), ONE_STEP)
def test_trace_of_one_step(text, expected):
    assert traced(text, "p1")[1:] == [f"  n0c0b0m0p1 {line}" for line in expected]


def test_trace_of_memories_above_the_pes_counts_each_once():
    text = "lpassa $peid $lm8v\nl1bmm@0 $lm8v $lb0\nl2bm@0 $lb0 $lc0\nmvp/n64i01 $lc0@.0 $d64\nnop; wait i01"
    lines = traced(text, "p0", "p1")
    assert lines[9:13] == [
        "step 1, line 2: l1bmm@0 $lm8v $lb0",
        "  n0c0b0 L1BM[0..15] stored, 12 changed",
        "  n0c0b0 L1BM[1] 0x0000000000000000 -> 0x0000000000000001",
        "  n0c0b0 L1BM[2] 0x0000000000000000 -> 0x0000000000000002",
    ]
    assert "  n0c0 L2BM[0..63] stored, 12 changed" in lines
    assert lines[-2:] == ["  n0 DRAM[64..127] stored", "step 3, line 5: nop; wait i01"]
    assert not any("L1BM" in line for line in traced("l2bmb@3 $lc0 $lb0"))
    assert any("L1BM" in line for line in traced("l2bmb@3 $lc0 $lb0", "b3"))
    assert traced("d set $lb5n1c0b2 1 0000000000000001", "n1b2")[1] == "  n1c0b2 L1BM[5..5] stored, 1 changed"
    assert len(traced("d set $lb5n1c0b2 1 0000000000000001", "n0b2")) == 1


class Honest:
    """An observer that compares what changed with what was announced."""

    def __init__(self, units):
        self.units = units

    def _look(self, state):
        return {u: (state.mem[u.tile, :, u.pe].copy(), state.l1bm[u.tile, u.b].copy(), state.l2bm[u.tile].copy())
                for u in self.units}  # fmt: skip

    def begin(self, state, position, statement):
        self.position, self.before = position, self._look(state)
        self.rows = {u: {} for u in self.units}
        self.spans = {u: written_spans(statement, u) for u in self.units}

    def micro(self, state, micro):
        for unit in self.units:
            for row, bits in micro_writes(state, unit, micro):
                self.rows[unit][row] = self.rows[unit].get(row, 0) | bits

    def end(self, state):
        for unit, after in self._look(state).items():
            before = self.before[unit]
            for row in np.flatnonzero(before[0] != after[0]):
                changed = int(before[0][row] ^ after[0][row])
                assert area_of(int(row)) is None or not changed & ~self.rows[unit].get(int(row), 0), self.position
            for place, old, new in zip((Place.L1BM, Place.L2BM), before[1:], after[1:], strict=True):
                for address in np.flatnonzero(old != new):
                    found = [s for s in self.spans[unit] if s.place == place and s.start <= address < s.stop]
                    assert found, self.position


def test_everything_that_changes_is_announced_and_the_run_is_the_usual_one():
    data = initial(4)
    program = parse("\n".join(Writer(seed).step() for seed in (4, 8, 12) for _ in range(10)))
    usual = prepared("numpy", 4, data)
    usual.run(usual.load(program))
    expected = state_of(usual)
    observer = Honest([Unit(), Unit(1, 1, 3, 5, 2), Unit(3, 1, 7, 15, 3)])
    machine = DebugMachine([observer])
    machine.state = prepared("numpy", 4, data).state
    machine.run(machine.load(program))
    for name, array in state_of(machine).items():
        assert np.array_equal(array, expected[name])


def test_stop_keeps_the_state_before_the_step():
    machine, result = run(PROGRAM, stop=Positions(parse(PROGRAM)).find("4"), nodes=NODES)
    assert machine.stopped.describe() == "step 4, line 5, node add_1 (Add, add.py:12): linc $ln4 $ln4"
    assert (result.steps, len(result.dump)) == (4, 1)
    assert int(fetch(machine, LM1, 3)[2, 1]) == 0x0000_0007_0000_0008


def test_a_run_without_stop_is_that_of_the_machine():
    machine, result = run(PROGRAM)
    usual = Machine("numpy").run(Machine("numpy").load(parse(PROGRAM)))
    assert (machine.stopped, result) == (None, usual)


STOPS = [("0", 0), ("1", 1), ("2", 1), ("3", 2), ("4", 4), ("5", 5), ("a", 0), ("add_1", 2)]


@pytest.mark.parametrize(("where", "index"), STOPS)
def test_breakpoints(where, index):
    assert Positions(parse(PROGRAM), NODES).find(where) == index


BAD_STOPS = [
    ("6", NODES, "PF0711: the program has no step 6; give a step from 0 to 5"),
    ("-1", (), "PF0711: '-1' is no step, and the program has no nodes; give a number"),
    ("add_2", NODES, "PF0711: the program has no node 'add_2'; give a step number or a node such as add_1"),
    ("x", NODES, "PF0711: the program has no node 'x'; give a step number or a node such as a, add_1"),
]


@pytest.mark.parametrize(("where", "nodes", "text"), BAD_STOPS)
def test_bad_breakpoints(where, nodes, text):
    with pytest.raises(UsageError) as caught:
        Positions(parse(PROGRAM), nodes).find(where)
    assert str(caught.value) == text


def test_a_program_without_steps_has_no_breakpoint():
    with pytest.raises(UsageError, match="PF0711: the program has no step 0; it has no steps"):
        Positions(parse("mvnop")).find("0")


WHO = [
    ("$ln4n0c0b0m0p1", "step 4, line 5: linc $ln4 $ln4"),
    ("$n5n3c1b7m15p3", "step 4, line 5: linc $ln4 $ln4"),
    ("$lln4n0c0b0m0p1", "step 4, line 5: linc $ln4 $ln4"),
    ("$ln6n0c0b0m0p1", None),
    ("$tn0c0b0m0p0", "step 5, line 6: lpassa $lr0 $t"),
    ("$t3n0c0b0m0p0", "step 5, line 6: lpassa $lr0 $t"),
    ("$omr1n0c0b0m0p0", None),
    ("$omr31n0c0b0m0p0", None),
    ("$d16n0", "the host, before the program"),
    ("$d18n0", None),
]


@pytest.mark.parametrize(("place", "writer"), WHO)
def test_who_wrote_last(place, writer):
    assert who(PROGRAM, place) == [writer or f"{'not written'}"]


def test_who_looks_at_masks_words_and_run_time_addresses():
    text = """\
ipassa $subpeid $omr1
lpassa $peid $ln0v/$imr1
lpassa $peid $m2
lpassa $peid $m3
lpassa $peid $lr0
imm i"4" $t
lpassa $lr0 $lmt8
dmwrite $lr0 $ly2
"""
    found = who(
        text, "$ln0n0c0b0m0p0", "$ln0n0c0b0m0p1", "$m2n0c0b0m0p0", "$lm2n0c0b0m0p0", "$lm12n0c0b0m0p0",
        "$lm8n0c0b0m0p0", "$ly2n0c0b0m0", "$ly5n0c0b0m0",
    )  # fmt: skip
    lines = [int(m[1]) if (m := re.search(r"line (\d+)", entry)) else None for entry in found]
    assert lines == [2, None, 3, 4, 7, None, 8, None]


def test_who_above_the_pes():
    text = """\
d set $lc0n1c0 1 0000000000000001
l2bmb@3 $lc0 $lb0
mvp/n64i01 $lc0@.0 $d64
mvp/n64i02 $lc64@1.0 $p0@2
nop; wait i01
nop; wait i02
r 2 000000080 001 00000000000000ff
"""
    places = ["$lc0n1c0", "$lc0n0c0", "$lb5n0c0b3", "$lb5n0c0b2", "$d64n3", "$p63n2", "$p63n1", "$d128n2"]
    found = who(text, *places)
    lines = [int(m[1]) if (m := re.search(r"line (\d+)", entry)) else None for entry in found]
    assert lines == [1, None, 2, None, 3, 4, None, 7]


BAD_PLACES = [
    ("$lm12", "PF0710: $lm12 is not one place; add the ids n, c, b, m, p"),
    ("$lm12n0c0b0m0", "PF0710: $lm12n0c0b0m0 is not one place; add the ids p"),
    ("$lm12n9c0b0m0p0", "PF0710: $lm12n9c0b0m0p0: n must be 0 to 3"),
    ("lm12", "PF0710: 'lm12' is not a memory and location such as $lm0n0c0b0m0p0"),
]


@pytest.mark.parametrize(("text", "message"), BAD_PLACES)
def test_bad_places(text, message):
    with pytest.raises(UsageError) as caught:
        parse_spot(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("text", ["", "x", "n4", "n0c0b0m16p0", "p0n0", "n0c0b0m0p0 "])
def test_bad_units(text):
    with pytest.raises(UsageError, match="PF0710"):
        parse_unit(text)
    assert parse_unit("n1p3") == Unit(1, 0, 0, 0, 3)


def test_strict_findings_name_positions():
    machine, result = run("lpassa $lm0 $lr0\nnop/2\nladd $aluf $lr0 $ln4", strict=True)
    assert result.findings == machine.findings
    assert result.findings == ("LM0 words [0] are read but were never written (step 0, line 1: lpassa $lm0 $lr0)",)


def test_strict_without_lines_names_nodes():
    from dataclasses import replace

    from pfcomp.isa.model import Program

    program = Program(tuple(replace(s, line=0) for s in parse(PROGRAM + "lpassa $lm0 $lr0").statements))
    machine = DebugMachine(nodes=[NodeSpan(6, 7, "copy_1")], strict=True)
    result = machine.run(machine.load(program))
    assert result.findings == ("LM0 words [0] are read but were never written (step 6, node copy_1: lpassa $lm0 $lr0)",)


def test_the_example_of_the_page_runs(capsys):
    page = (Path(__file__).parents[2] / "docs" / "emulator.md").read_text(encoding="utf-8")
    code = next(block for block in re.findall(r"```python\n(.*?)```", page, re.S) if "DebugMachine" in block)
    exec(code, {})
    comments = [re.sub(r"^.*?\)  +# ?", "", line) for line in code.splitlines() if line.startswith("print")]
    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [line.strip() for line in comments]
