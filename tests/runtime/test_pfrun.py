"""pfrun and gpfn3-smi: what they print, exit statuses, one-line errors."""

import json
import subprocess
import sys

import numpy as np
import pytest

from pfcomp.app import serialize
from pfcomp.artifacts import compress
from pfcomp.cli import gpfn3_smi, pfrun
from tests.runtime.apps import add_app

X = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.app").write_bytes(serialize(add_app()))
    np.save("x.npy", X)
    np.save("sum.npy", X + 1)
    wrong = X + 1
    wrong[1, 2] = 0
    np.save("wrong.npy", wrong)
    return tmp_path


def run(main, monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["program", *map(str, arguments)])
    with pytest.raises(SystemExit) as caught:
        main.main()
    output = capsys.readouterr()
    return caught.value.code or 0, output.out, output.err


@pytest.fixture
def pf(monkeypatch, capsys):
    return lambda *arguments: run(pfrun, monkeypatch, capsys, *arguments)


@pytest.fixture
def smi(monkeypatch, capsys):
    return lambda *arguments: run(gpfn3_smi, monkeypatch, capsys, *arguments)


def test_folder_app_and_compressed_app(folder, pf):
    (folder / "other.app.zst").write_bytes(compress((folder / "model.app").read_bytes()))
    for target in (folder, "model.app", "other.app.zst"):
        status, out, err = pf(target, "--input", "x=x.npy", "--input", "y=ones", "--expect", "out=sum.npy")
        assert (status, err) == (0, "")
        assert "out: as expected (12 elements, largest difference 0)" in out
        assert "out: float32[3,4] = 1, 2, 3, 4, ..." in out


def test_failed_expectation(folder, pf):
    status, out, _ = pf("model.app", "--input", "x=x.npy", "--input", "y=ones", "--expect", "out=wrong.npy")
    assert status == 1
    assert "out: MISMATCH in 1 of 12 elements" in out
    assert "worst at [1, 2]: expected 0, got 7, difference 7" in out
    loose = pf("model.app", "--input", "x=x.npy", "--input", "y=ones", "--expect", "out=wrong.npy", "--atol", "7")
    assert loose[0] == 0


def test_output_file_json_and_repeat(folder, pf):
    arguments = ["--input", "x=rand:3", "--input", "y=zeros", "--output", "out.npz", "--repeat", "3", "--json"]
    status, out, _ = pf("model.app", *arguments)
    report = json.loads(out)
    assert status == 0
    assert report["held"] is True
    assert len(report["seconds"]) == 3
    assert report["outputs"] == {"out": {"shape": [3, 4], "dtype": "float32"}}
    expected = np.random.default_rng(3).standard_normal((3, 4)).astype(np.float32)
    assert np.array_equal(np.load("out.npz")["out"], expected)


def test_on_a_board(folder, pf):
    assert pf("model.app", "--device", "mncore2:auto", "--input", "x=ones", "--input", "y=ones")[0] == 0


WRONG = [
    (["missing.app", "--input", "x=ones"], 5, "PF0613"),
    (["x.npy"], 5, "PF0510"),
    (["model.app"], 2, "no value for input x, y"),
    (["model.app", "--input", "x"], 2, "PF0614"),
    (["model.app", "--input", "z=ones"], 2, "PF0614"),
    (["model.app", "--input", "x=none.npy", "--input", "y=ones"], 2, "PF0615"),
    (["model.app", "--expect", "sum=sum.npy"], 2, "PF0614"),
    (["model.app", "--input", "x=ones", "--input", "y=ones", "--device", "emu2:0"], 2, "PF0601"),
    (["model.app", "--input", "x=ones", "--input", "y=ones", "--device", "mncore2:9"], 6, "PF0603"),
    (["model.app", "--input", "x=ones", "--input", "y=ones", "--expect", "out=nine.npy"], 2, "PF0616"),
    (["model.app", "--input", "x=ones", "--input", "y=ones", "--output", "no/such/folder.npz"], 2, "PF0502"),
    (["good.vsm", "--device", "pfvm:cpu"], 2, "PF0619"),
    (["bytes.vsm"], 3, "PF0621"),
    (["good.vsm", "--input", "x=ones"], 2, "PF0614"),
    (["missing.vsm"], 5, "PF0501"),
]


@pytest.mark.parametrize(("arguments", "status", "text"), WRONG)
def test_errors_are_one_line(folder, pf, arguments, status, text):
    np.save("nine.npy", np.ones(9))
    (folder / "good.vsm").write_text("nop\n")
    (folder / "bytes.vsm").write_bytes(b"\xff\xfe\x00")
    code, out, err = pf(*arguments)
    assert (code, out) == (status, "")
    assert text in err
    assert err.startswith("pfrun: PF")
    assert err.count("\n") == 1


def test_bare_program(folder, pf):
    (folder / "p.vsm").write_text('imm f"1.5" $lr0\nnop/2\nd getf $lr0n0c0b0m0p0 1\n')
    status, out, err = pf("p.vsm", "-d", "dump.txt")
    assert (status, err) == (0, "")
    assert "1 dump lines" in out
    line = (folder / "dump.txt").read_text()
    assert line == "DEBUG-GREG0(n0c0b0m0p0,0):(1.5, 1.5) (0x3fc00000, 0x3fc00000) #d getf $lr0n0c0b0m0p0 1\n"
    assert pf("p.vsm", "--json")[2] == line
    (folder / "q.vsm.zst").write_bytes(compress((folder / "p.vsm").read_bytes()))
    assert pf("q.vsm.zst")[2] == line


def test_bare_program_that_breaks_the_rules(folder, pf):
    (folder / "p.vsm").write_text('imm f"1.5" $lm0\nlpassa $lm0 $lr0\nd getf $lr0n0c0b0m0p0 1\n')
    status, _, err = pf("p.vsm")
    assert status == 3
    assert "PF0620: p.vsm: 2 rules of the chip are broken" in err
    assert "p.vsm:2: error H3: " in err
    assert pf("p.vsm", "--no-check")[0] == 0


def test_help_imports_no_torch():
    program = (
        "import sys; from pfcomp.cli import pfrun, gpfn3_smi; print([m in sys.modules for m in ('torch', 'numpy')])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout == "[False, False]\n"


def test_run_imports_no_torch(folder):
    program = (
        "import sys; from pfcomp.cli.pfrun import cli; "
        "cli(['model.app', '--input', 'x=ones', '--input', 'y=ones'], standalone_mode=False); "
        "print([m for m in ('torch', 'onnx', 'onnxruntime') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.endswith("[]\n")


def test_smi_list(smi, monkeypatch):
    assert smi("list") == (0, "0: mnc2emu0\n", "")
    monkeypatch.setenv("PFCOMP_BOARDS", "2")
    assert smi("list")[1] == "0: mnc2emu0\n1: mnc2emu1\n"


def test_smi_reset(smi):
    from pfcomp.runtime.boards import acquired

    assert smi("reset", "0")[:2] == (0, "0: mnc2emu0 is free\n")
    assert smi("reset", "mnc2p28s0")[0] == 6
    with acquired((0,)):
        status, _, err = smi("reset", "mnc2emu0")
        assert status == 6
        assert "PF0605: board 0 is in use by process" in err
        assert "was taken from process" in smi("reset", "--force", "0")[1]


def test_smi_clear(smi):
    from pfcomp.runtime.devices import parse_device
    from pfcomp.runtime.engine import Engine

    assert smi("clear", "-pattern", "0xff", "0")[:2] == (0, "0: mnc2emu0 is filled with 0xff\n")
    engine = Engine(parse_device("mncore2:0"))
    buffer = engine.buffer(16, "x")
    rows = engine.queue.submit("read", lambda: engine.read(buffer)).wait()
    assert all((rows[group] == 0xFF).all() for group in range(4))
    assert "seed 5" in smi("clear", "-seed", "5", "0")[1]
    assert smi("clear", "0")[1] == "0: mnc2emu0 is filled with 0x0\n"
    assert smi("clear", "-pattern", "many", "0")[0] == 2
