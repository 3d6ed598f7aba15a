"""The debugging options of pfrun: what they print for assembly and apps, and one-line errors."""

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from pfcomp.app import serialize
from pfcomp.app.model import DebugSpan
from pfcomp.cli import pfrun
from tests.runtime.apps import add_app

PROGRAM = """\
imm f"1.5" $lr0
d getf $lr0n0c0b0m0p0 1
nop/2
fvadd $lr0 $lr0 $ln4
d getf $ln4n0c0b0m0p0 1
"""
FEEDS = ("--input", "x=x.npy", "--input", "y=ones")
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def app():
    app = add_app()
    end = len(app.program.statements)
    spans = (DebugSpan(0, 9, "load_1", "Download", ""), DebugSpan(10, 11, "add_1", "Add", "add.py:12"),
             DebugSpan(11, end, "store_1", "Upload", ""))  # fmt: skip
    return replace(app, debug=spans)


@pytest.fixture
def pf(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.app").write_bytes(serialize(app()))
    (tmp_path / "p.vsm").write_text(PROGRAM)
    np.save("x.npy", X)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["pfrun", *map(str, arguments)])
        with pytest.raises(SystemExit) as caught:
            pfrun.main()
        output = capsys.readouterr()
        return caught.value.code or 0, output.out, output.err

    return run


def test_break_in_assembly(pf):
    status, out, err = pf("p.vsm", "--break", "3", "--show", "$ln4n0c0b0m0p0", "--show", "getf $lr0n0c0b0m0p0 1")
    lines = out.splitlines()
    assert status == 0
    assert lines[0].endswith(", 3 steps, 1 dump lines")
    assert lines[1:] == [
        "stopped before step 3, line 4: fvadd $lr0 $lr0 $ln4",
        "DEBUG-LM1(n0c0b0m0p0,4):(f:0, i:{{0x0,0x0},{0x0,0x0}}, v:0x0) #d get $ln4n0c0b0m0p0 1",
        "DEBUG-GREG0(n0c0b0m0p0,0):(1.5, 1.5) (0x3fc00000, 0x3fc00000) #d getf $lr0n0c0b0m0p0 1",
    ]
    assert err == lines[3] + "\n"  # the program's own dump up to the stop


def test_trace_and_who_in_assembly(pf, tmp_path):
    who = ("--who", "$ln4n0c0b0m0p1", "--who", "$lm0n0c0b0m0p0")
    status, out, _ = pf("p.vsm", "--trace", "t.txt", "--trace-pe", "p1", "--trace-pe", "n1", *who)
    assert status == 0
    assert out.splitlines()[1:] == [
        "$ln4n0c0b0m0p1: last written by step 3, line 4: fvadd $lr0 $lr0 $ln4",
        "$lm0n0c0b0m0p0: not written",
    ]
    assert (tmp_path / "t.txt").read_text().splitlines() == [
        'step 0, line 1: imm f"1.5" $lr0',
        "  n0c0b0m0p1 GRF0[0] 0x0000000000000000 -> 0x3fc000003fc00000",
        "  n1c0b0m0p0 GRF0[0] 0x0000000000000000 -> 0x3fc000003fc00000",
        "step 1, line 3: nop/2",
        "step 3, line 4: fvadd $lr0 $lr0 $ln4",
        "  n0c0b0m0p1 LM1[4] 0x0000000000000000 -> 0x4040000040400000",
        "  n1c0b0m0p0 LM1[4] 0x0000000000000000 -> 0x4040000040400000",
    ]


def test_the_trace_ends_at_the_stop(pf, tmp_path):
    assert pf("p.vsm", "--trace", "t.txt", "--break", "3")[0] == 0
    assert (tmp_path / "t.txt").read_text().splitlines()[-1] == "step 1, line 3: nop/2"


def test_strict_in_assembly(pf, tmp_path):
    assert pf("p.vsm", "--strict")[1].splitlines()[1:] == ["strict: 0 findings"]
    (tmp_path / "q.vsm").write_text("lpassa $lm0 $lr0\n")
    status, out, _ = pf("q.vsm", "--strict")
    assert status == 0
    assert out.splitlines()[1:] == [
        "strict: 1 findings",
        "strict: LM0 words [0] are read but were never written (step 0, line 1: lpassa $lm0 $lr0)",
    ]


def test_break_at_a_node_of_an_app(pf):
    status, out, err = pf("model.app", *FEEDS, "--break", "add_1", "--show", "getf $lm2n0c0b0m0p0 1")
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert "steps" not in lines[0]
    assert lines[1].startswith("stopped before step ")
    assert lines[1].endswith(", node add_1 (Add, add.py:12): fvadd $lm0v $ln0v $lr0v")
    assert lines[2].startswith("DEBUG-LM0(n0c0b0m0p0,2):(4, 0) ")


def test_trace_who_and_strict_of_an_app(pf, tmp_path):
    np.save("sum.npy", X + 1)
    expect = ("--expect", "out=sum.npy")
    options = ("--trace", "t.txt", "--who", "$lr2n0c0b0m0p0", "--who", "$d0n0", "--strict", "--device", "mncore2:auto")
    status, out, _ = pf("model.app", *FEEDS, *expect, *options)
    assert status == 0
    assert "out: as expected (12 elements, largest difference 0)" in out
    add = ", node add_1 (Add, add.py:12): fvadd $lm0v $ln0v $lr0v"
    assert f"{add}\n" in out.partition("$lr2n0c0b0m0p0: last written by step ")[2]
    assert "strict: " in out
    trace = (tmp_path / "t.txt").read_text()
    assert "  n0c0b0m0p0 GRF0[2] 0x0000000000000000 -> 0x40a0000000000000\n" in trace.partition(add)[2]


def test_an_upload_is_the_last_writer(pf):
    assert pf("p.vsm", "--who", "$d0n0")[1].splitlines()[1] == "$d0n0: not written"
    out = pf("model.app", *FEEDS, "--break", "0", "--who", "$d0n0", "--device", "mncore2:auto")[1]
    assert out.splitlines()[-1].endswith("n0: last written by the host, before the program")


def test_json(pf):
    debug = json.loads(pf("p.vsm", "--break", "3", "--json")[1])["debug"]
    where = {"step": 3, "line": 4, "statement": "fvadd $lr0 $lr0 $ln4", "nodes": []}
    assert debug == {"stopped": where, "who": [], "shown": [], "strict": None}
    assert "debug" not in json.loads(pf("p.vsm", "--json")[1])
    report = json.loads(pf("model.app", *FEEDS, "--break", "add_1", "--strict", "--json")[1])
    assert report["outputs"] == {}
    assert report["debug"]["stopped"]["nodes"] == ["add_1 (Add, add.py:12)"]
    assert isinstance(report["debug"]["strict"], list)


WRONG = [
    (["p.vsm", "--break", "4"], "PF0711: the program has no step 4; give a step from 0 to 3"),
    (["p.vsm", "--break", "add_1"], "PF0711"),
    (["model.app", *FEEDS, "--break", "add_2"], "a node such as add_1"),
    (["model.app", *FEEDS, "--break", "add_1", "--output", "o.npz"], "PF0623"),
    (["model.app", *FEEDS, "--break", "add_1", "--expect", "out=x.npy"], "PF0623"),
    (["model.app", *FEEDS, "--strict", "--repeat", "2"], "PF0623"),
    (["p.vsm", "--strict", "--repeat", "2"], "PF0623"),
    (["p.vsm", "--trace-pe", "n0"], "PF0623: --trace-pe chooses PEs of a trace; add --trace FILE"),
    (["p.vsm", "--trace", "t.txt", "--trace-pe", "n4"], "PF0710"),
    (["p.vsm", "--trace", "no/t.txt"], "PF0502: no/t.txt: cannot be written"),
    (["p.vsm", "--who", "$lm12"], "PF0710: $lm12 is not one place; add the ids n, c, b, m, p"),
    (["p.vsm", "--who", "x"], "PF0710"),
    (["p.vsm", "--show", "x"], "PF0710"),
    (["p.vsm", "--show", "set $lm0 1 0000000000000000"], "PF0710"),
    (["model.app", *FEEDS, "--strict", "--device", "pfvm:cpu"], "PF0619"),
]


@pytest.mark.parametrize(("arguments", "text"), WRONG)
def test_errors_are_one_line(pf, arguments, text):
    code, out, err = pf(*arguments)
    assert (code, out) == (2, "")
    assert text in err
    assert err.startswith("pfrun: PF")
    assert err.count("\n") == 1
