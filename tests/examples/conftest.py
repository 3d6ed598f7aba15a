"""Every test has boards of its own, and the programs that it starts import the same pfcomp."""

import runpy
import sys
from pathlib import Path

import pytest

import pfcomp

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(autouse=True)
def own_boards(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PFCOMP_STATE_DIR", str(tmp_path_factory.mktemp("boards")))
    monkeypatch.setenv("PFCOMP_BOARD_WAIT", "20")
    monkeypatch.delenv("PFCOMP_BOARDS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(pfcomp.__file__).parents[1]))


@pytest.fixture
def example(tmp_path, monkeypatch, capsys):
    """Runs an example in this process; returns what it prints."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.syspath_prepend(str(EXAMPLES))

    def run_example(name, *arguments):
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run_example
