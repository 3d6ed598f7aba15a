"""The interface: loading, running, persistence, sparse memories, dumps, bare programs, errors and the C library."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pfcomp.emulator import ENGINES, Machine, run_vsm, sparse
from pfcomp.emulator.c import native
from pfcomp.emulator.micro import AluOp, Code, Conversion, FlagRule, Format, L1Kind, L2Kind, Reduction, VectorOp
from pfcomp.errors import DeviceError, InternalError, SourceError, UnsupportedError, UsageError
from pfcomp.isa import parse
from pfcomp.isa.model import Address, Op, Operand, Place, Program, Step, Unit
from tests.emulator.chip import AVAILABLE, GRF0, LM0, fetch, run

C = Path(native.__file__).parent


@pytest.fixture(params=AVAILABLE)
def machine(request):
    return Machine(request.param)


def test_names_of_the_engines():
    assert ENGINES == ("auto", "c", "numpy")
    assert native.describe().startswith(("C, ", "numpy"))


def test_steps_count_nops_and_state_stays(machine):
    result = run(machine, "linc $lr0 $lr0\nnop/5\nmvp/n64 $d0 $lc0@.0\nnop")
    assert (result.steps, result.dump, result.findings) == (7, [], ())
    program = machine.load(parse("linc $lr0 $lr0"))
    for _ in range(3):
        machine.run(program)
    assert (fetch(machine, GRF0, 1) == 4).all()
    machine.reset()
    assert (fetch(machine, GRF0, 1) == 0).all()


def test_one_executable_on_many_chips(machine):
    program = machine.load(parse("linc $lr0 $lr0\nlpassa $lr0 $lm[0,4,8,12]"))
    other = Machine("numpy")
    machine.run(program)
    other.run(program)
    assert (fetch(machine, LM0, 8) == fetch(other, LM0, 8)).all()


def test_base_addresses_survive_programs(machine):
    """A program translated for zero base addresses runs right on a chip that has others."""
    program = machine.load(parse("lpassa $peid $lm0"))
    run(machine, 'imm i"8" $mb')
    machine.run(program)
    rows = fetch(machine, LM0, 5)
    assert (rows[4] == np.tile(np.arange(64, dtype=np.uint64), 64)).all()
    assert not rows[:4].any()
    run(machine, 'imm i"0" $mb\nlpassa $peid $lm2')
    assert (fetch(machine, LM0, 2)[1] == rows[4]).all()


def test_base_address_that_differs_between_pes(machine):
    run(
        machine, 'lpassa $subpeid $lr0\nlpackbit $lr0 $lr4 $lr8\nimm i"32" $ls0\nllsl $lr8 $ls0 $mb\nlpassa $peid $lm4v'
    )
    rows = fetch(machine, LM0, 12)
    for pe in range(4096):
        assert [int(w) for w in rows[2 + pe % 4 : 6 + pe % 4, pe]] == [pe % 64] * 4


def test_simultaneous_forwarding(machine):
    """A step reads the old value of a path while it sets the new one."""
    run(
        machine,
        "linc $lr0 $nowrite\nlinc $aluf $nowrite; dvpassa $aluf $ln0\nlpassa $aluf $lm0\nnop/2\nlpassa $aluf $lm2",
    )
    assert [int(w) for w in fetch(machine, LM0, 2)[:, 0]] == [2, 2]


def test_noforward_keeps_paths(machine):
    run(machine, "linc $lr0 $nowrite\nnoforward; linc $lr2 $lr4\nlinc $aluf $lm0\nlpassa $lr4 $lm2")
    assert [int(w) for w in fetch(machine, LM0, 2)[:, 0]] == [2, 1]


def test_dram_is_sparse_and_wraps(machine):
    end = sparse.DRAM_LW
    machine.dram.write(2, end - 2, [1, 2, 3])
    assert machine.dram.read(2, end - 2, 4).tolist() == [1, 2, 3, 0]
    assert machine.dram.read(2, 0, 1).tolist() == [3]
    assert machine.dram.read(3, 5, 2).tolist() == [0, 0]
    machine.pdm.fill(1, 4, 3, 9)
    assert machine.pdm.read(1, 3, 5).tolist() == [0, 9, 9, 9, 0]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_idle_chip_is_small():
    code = "from pfcomp.emulator import Machine; m = Machine(); m.dram.write(3, 1 << 28, [1]);"
    code += "print(open('/proc/self/status').read())"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=C.parents[2])
    assert int(re.search(r"VmRSS:\s+(\d+) kB", out.stdout)[1]) < 250_000


@pytest.mark.parametrize(("group", "address", "count"), [(4, 0, 1), (-1, 0, 1), (0, sparse.DRAM_LW, 1), (0, -1, 1)])
def test_host_access_outside(group, address, count):
    with pytest.raises(DeviceError, match="PF0704"):
        Machine().dram.read(group, address, count)


def test_address_space_is_refused(monkeypatch):
    def refuse(*_, **__):
        raise OSError("no")

    machine = Machine()
    monkeypatch.setattr(sparse.mmap, "mmap", refuse)
    with pytest.raises(DeviceError, match="PF0703"):
        machine.dram.write(0, 0, [1])


def test_unsupported_operation_names_the_line():
    op = Op(Unit.MWRITE, "mwrite", "d", sources=(Operand(Place.LM0, 2, Address(0), suffix="r"),),
            destinations=(Operand(Place.MATRIX_X, 2, Address(0)),))  # fmt: skip
    with pytest.raises(UnsupportedError, match="PF0701: line 7: suffix r"):
        Machine().load(Program((Step((op,), line=7),)))


def test_unknown_engine():
    with pytest.raises(UsageError, match="PF0705"):
        Machine("cuda")


def test_missing_c_engine(monkeypatch):
    monkeypatch.setattr(native, "compiled", lambda: None)
    with pytest.raises(UsageError, match="PF0705: the C engine was not built"):
        Machine("c")
    assert native.describe() == "numpy (no compiled engine)"
    assert run(Machine("auto"), "linc $lr0 $lr0\nd get $lr0n0c0b0m0p0 1").dump


def test_foreign_library_is_refused(monkeypatch):
    if native.compiled() is None:
        pytest.skip("no compiled engine")
    monkeypatch.setattr(native, "T_ROW", 1)
    with pytest.raises(InternalError, match="PF0708"):
        native._verify(native.compiled())


def test_engine_without_memory(monkeypatch):
    def refuse(_):
        raise OSError

    if native.compiled() is None:
        pytest.skip("no compiled engine")
    monkeypatch.setattr(native, "reserve", refuse)
    with pytest.raises(InternalError, match="PF0709"):
        Machine("c")


def test_library_that_cannot_be_opened(monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"not a library")
    monkeypatch.setattr(native, "_path", lambda name: broken)
    assert native._open("_baseline") is None


@pytest.mark.parametrize("level", range(3))
def test_every_level_computes_the_same(level, monkeypatch):
    found = native.compiled(level)
    if found is None or found.pfcomp_level() != level:
        pytest.skip("this level was not built or does not run here")
    text = "lpassa $peid $lm0v\nfvadd $lm0v $lm0v $ln0v\nhbfn/9 $lm0v $lr0v\nhmwrite $lr0v $lx0\nhmmul $lx $lr0v $lln8v"
    monkeypatch.setattr(native, "compiled", lambda: found)
    one, two = Machine("numpy"), Machine("c")
    for chip in (one, two):
        run(chip, text)
    assert (one.state.mem[:, :4700] == two.state.mem[:, :4700]).all()


def test_codes_of_both_engines_agree():
    """codes.h lists the same numbers as micro.py."""
    text = (C / "codes.h").read_text()
    groups = [re.findall(r"(\w+)(?: = (\d+))?[,\s}]", body + ",") for body in re.findall(r"enum \{(.*?)\}", text, re.S)]
    prefixes = {"FLAG_": FlagRule, "V": VectorOp, "KIND_": L1Kind, "R_": Reduction, "FORMAT_": Format}
    tables = [Code, Conversion, Format, AluOp, FlagRule, VectorOp, L1Kind, L2Kind, Reduction]
    assert len(groups) == len(tables)
    for group, table in zip(groups, tables, strict=True):
        prefix = next((p for p, t in prefixes.items() if t is table), "")
        value = -1
        for name, number in group:
            value = int(number) if number else value + 1
            assert table[name.removeprefix(prefix)] == value


def test_run_vsm_from_text_and_path(tmp_path):
    text = "lpassa $peid $lm0\nd get $lm0n0c0b0m1p2 1\n"
    path = tmp_path / "program.vsm"
    path.write_text(text)
    want = ["DEBUG-LM0(n0c0b0m1p2,0):(f:0, i:{{0x0,0x0},{0x0,0x6}}, v:0x6) #d get $lm0n0c0b0m1p2 1"]
    assert run_vsm(text) == run_vsm(path) == run_vsm(str(path)) == want


def test_run_vsm_checks_first():
    bad = "lpassa $peid $lr0\nlpassa $lr0 $lm0\n"
    with pytest.raises(SourceError, match=r"PF0707: line 2: H1"):
        run_vsm(bad)
    assert run_vsm(bad + "d getd $lm0n0c0b0m0p0 1", check=False)


def test_run_vsm_unreadable(tmp_path):
    with pytest.raises(SourceError, match=r"PF0706: nothing\.vsm"):
        run_vsm(tmp_path / "nothing.vsm")


def test_debug_set_of_words_and_every_memory(machine):
    text = """
d set $m1n0c0b0m0p0 2 00000001000000020000000300000004
d set $ln4 1 00000000000000aa
d set $tn0c0b0m0p1 2 00000000000000010000000000000002
d set $lb8n1 1 0000000000000005
d set $lc3n1c1 1 0000000000000006
d get $lm0n0c0b0m0p0 2
d get $ln4n3c1b7m15p3 1
d get $tn0c0b0m0p1 6
d get $lb8n1c0b3 1
d get $lc3n1c1 1
d get $d0n2 1
d get $p0n3 1
d getbh $lx0n0c0b0m0 1
d getf $ly0n0c0b0m0 1
d get $omr31n0c0b0m0p0 1
"""
    lines = [line.split(" #")[0] for line in run(machine, text).dump]
    assert lines[0].endswith("v:0x1)")
    assert lines[1].endswith("v:0x300000000)")
    assert lines[2] == "DEBUG-LM1(n3c1b7m15p3,4):(f:0, i:{{0x0,0x0},{0x0,0xAA}}, v:0xAA)"
    assert [line.split("v:")[1] for line in lines[3:9]] == ["0x1)", "0x2)", "0x0)", "0x0)", "0x1)", "0x2)"]
    assert lines[9].startswith("DEBUG-L1BM(n1c0b3,8):")
    assert lines[10].startswith("DEBUG-L2BM(n1c1,3):")
    assert lines[11].startswith("DEBUG-DRAM(n2,0):")
    assert lines[12].startswith("DEBUG-PDM(n3,0):")
    assert lines[13] == "DEBUG-MATX(n0c0b0m0,0):(0, 0, 0, 0) (0x0000, 0x0000, 0x0000, 0x0000)"
    assert lines[14] == "DEBUG-MATY(n0c0b0m0,0):(0, 0) (0x00000000, 0x00000000)"
    assert lines[15:] == ["DEBUG-OMR(n0c0b0m0p0,31):Mask{15}"] * 4


def test_dump_of_infinities_and_block_float(machine):
    text = "d set $lm0n0c0b0m0p0 2 7ff0000000000000fff00000000000007f80000040804080\n"
    text = text.replace("7f80000040804080", "7e00fe0040804000").replace("lm0n0c0b0m0p0 2", "lm0n0c0b0m0p0 3")
    dump = run(machine, text + "d getd $lm0n0c0b0m0p0 2\nd geth $lm4n0c0b0m0p0 1\nd getbh $lm4n0c0b0m0p0 1").dump
    bodies = [re.search(r":(\(.*?\)) ", line)[1] for line in dump]
    assert bodies == ["(inf)", "(-inf)", "(inf, -inf, 2.5, 2)", "(inf, -inf, 1, 0)"]
