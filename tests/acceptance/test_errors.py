"""What users do wrong: one line, the right exit code, no traceback."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.commands import one_line_error, run

UNSUPPORTED = """\
import torch


def f(inputs):
    a = torch.sin(inputs["x"].double())
    b = torch.tan(a)
    return {"out": torch.tan(b) + inputs["y"]}
"""
SAMPLE = ("--sample", "x=float32[3,4]", "--sample", "y=float32[3,4]")


def test_unsupported_operators_are_listed_with_their_lines(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(UNSUPPORTED)
    done = run("pfcomp", "compile", tmp_path / "prog.py:f", *SAMPLE, "-o", tmp_path / "out", "--quiet")
    one_line_error(done, 4, "Tan x2", "Sin x1", "prog.py:5", "prog.py:6", "prog.py:7")


def test_unreadable_script(tmp_path: Path) -> None:
    one_line_error(run("pfcomp", "compile", tmp_path / "missing.py", "-o", tmp_path / "out"), 3, "missing.py")


def test_empty_output_key(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text('def f(inputs):\n    return {"": inputs["x"] + 1}\n')
    sample = ("--sample", "x=float32[3]")
    one_line_error(run("pfcomp", "compile", tmp_path / "prog.py:f", *sample, "-o", tmp_path / "out"), 3, "empty key")


def test_read_only_output_folder(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(
        UNSUPPORTED.replace(".double()", "").replace("sin", "relu").replace("tan", "relu")
    )
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")  # refuses writing even to root, unlike a mode
    done = run("pfcomp", "compile", tmp_path / "prog.py:f", *SAMPLE, "-o", blocked / "out")
    one_line_error(done, 2, "file")


def test_codegen_dir_of_another_schema(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"schema": 999}')
    one_line_error(run("pfcomp", "schedule", tmp_path), 5, "schema 999", "compile again")


def test_index_on_the_private_emulator(tmp_path: Path) -> None:
    program = tmp_path / "p.py"
    program.write_text("from mlsdk import MNDevice\nMNDevice('emu2:0')\n")
    done = run(program)
    assert done.returncode != 0
    assert "emu2" in done.stderr.splitlines()[-1]
