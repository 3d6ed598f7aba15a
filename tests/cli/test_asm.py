"""`pfcomp asm` and its commands."""

import io
import json

import click
import pytest

from pfcomp.app import write_app
from pfcomp.artifacts import write_zst
from pfcomp.cli.asm import asm
from pfcomp.cli.main import cli
from pfcomp.isa import parse
from tests.app.apps import add_app
from tests.cli.test_main import ends

GOOD = "linc $lm0v $lr0v # one\nnop/2\nladd $lr0v $ls0v $ln0v\n"
BAD = "linc $lm0 $ln0\nfvad $lm0 $ln0 $lr0\nlinc $lq0 $ln0\n"
HAZARD = "linc $lm0 $ln0\nlinc $ln0 $lm2\n"


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Runs `pfcomp asm ...` in a folder with the sample files; returns exit status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("good.vsm", GOOD), ("bad.vsm", BAD), ("hazard.vsm", HAZARD)):
        (tmp_path / name).write_text(text)
    return lambda *arguments: ends(monkeypatch, capsys, cli, "asm", *arguments)


def test_every_command_has_a_help_text():
    assert asm.help
    assert set(asm.commands) == {"check", "fmt", "stats", "encode", "disasm"}
    assert all(isinstance(c, click.Command) and c.help for c in asm.commands.values())


def test_check_passes_a_good_program(call):
    assert call("check", "good.vsm") == (0, "", "1 files, 0 errors, 0 warnings\n")


def test_check_lists_every_bad_line(call):
    status, out, _ = call("check", "bad.vsm", "good.vsm")
    assert status == 1
    assert [line.split(": ")[:2] for line in out.splitlines()] == [["bad.vsm:2", "syntax"], ["bad.vsm:3", "syntax"]]


def test_check_lists_hazards(call):
    status, out, err = call("check", "hazard.vsm")
    assert status == 1
    assert out.startswith("hazard.vsm:2: H3: ")
    assert err == "1 files, 1 errors, 0 warnings\n"


def test_fmt(call, tmp_path):
    assert call("fmt", "good.vsm") == (0, GOOD.replace(" # one", "  # one"), "")
    assert call("fmt", "--check", "good.vsm")[:2] == (1, "")
    assert call("fmt", "-w", "good.vsm") == (0, "", "")
    assert (tmp_path / "good.vsm").read_text() == GOOD.replace(" # one", "  # one")
    assert call("fmt", "--check", "good.vsm")[:2] == (0, "")
    status, out, err = call("fmt", "-w", "bad.vsm")
    assert (status, out) == (3, "")
    assert err.startswith("pfcomp: PF0101: 2 bad lines of assembly\nbad.vsm:2:1: ")
    assert (tmp_path / "bad.vsm").read_text() == BAD


def test_encode_disasm_and_stats(call, tmp_path):
    assert call("encode", "good.vsm", "-o", "good.bin") == (0, "", "")
    status, text, _ = call("disasm", "good.bin")
    assert (status, text) == (0, GOOD.replace(" # one", ""))
    assert call("disasm", "good.bin", "-o", "again.vsm")[0] == 0
    assert call("encode", "again.vsm", "-o", "again.bin")[0] == 0
    assert (tmp_path / "again.bin").read_bytes() == (tmp_path / "good.bin").read_bytes()
    figures = json.loads(call("stats", "--json", "good.bin")[1])
    assert (figures["steps"], figures["nops"], figures["ops"]) == (4, 2, 2)
    assert call("stats", "good.vsm")[1].startswith("steps      4 (16 cycles), 2 without operation")


def test_apps_and_compressed_files(call, tmp_path):
    write_app(add_app(), tmp_path / "model.app")
    write_app(add_app(), tmp_path / "model.app.zst")
    for name in ("model.app", "model.app.zst"):
        status, text, _ = call("disasm", name)
        assert status == 0
        assert parse(text) == add_app().program
        assert call("stats", name) == call("stats", "model.app")
    call("encode", "good.vsm", "-o", "good.bin")
    write_zst(tmp_path / "good.bin.zst", (tmp_path / "good.bin").read_bytes())
    assert call("disasm", "good.bin.zst") == call("disasm", "good.bin")
    write_zst(tmp_path / "good.vsm.zst", GOOD.encode())
    assert call("stats", "good.vsm.zst") == call("stats", "good.vsm")
    (tmp_path / "cut.app").write_bytes((tmp_path / "model.app").read_bytes()[:-1])
    assert "PF0512" in call("disasm", "cut.app")[2]


def test_foreign_and_damaged_files(call, tmp_path):
    (tmp_path / "foreign.bin").write_bytes(b"hello")
    assert call("disasm", "foreign.bin")[0] == 5
    call("encode", "good.vsm", "-o", "good.bin")
    (tmp_path / "cut.bin").write_bytes((tmp_path / "good.bin").read_bytes()[:-1])
    assert "PF0104" in call("stats", "cut.bin")[2]
    assert call("check", "missing.vsm")[0] == 2


def test_standard_streams_and_other_encodings(call, monkeypatch, tmp_path):
    class Stdin:
        buffer = io.BytesIO(b"nop # \xb5\xff\n")

    monkeypatch.setattr("sys.stdin", Stdin)
    assert call("stats", "-")[1].startswith("steps      1 ")
    (tmp_path / "latin.vsm").write_bytes(b"nop\nlinc $lm0 $ln\xb50\n")
    assert call("check", "latin.vsm")[1].startswith("latin.vsm:2: syntax: ")
