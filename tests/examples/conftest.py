"""Every test has boards of its own, and the programs that it starts import the same pfcomp."""

from pathlib import Path

import pytest

import pfcomp


@pytest.fixture(autouse=True)
def own_boards(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PFCOMP_STATE_DIR", str(tmp_path_factory.mktemp("boards")))
    monkeypatch.setenv("PFCOMP_BOARD_WAIT", "20")
    monkeypatch.delenv("PFCOMP_BOARDS", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(Path(pfcomp.__file__).parents[1]))
