"""Every test has boards of its own."""

import pytest


@pytest.fixture(autouse=True)
def own_boards(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("PFCOMP_STATE_DIR", str(tmp_path_factory.mktemp("boards")))
    monkeypatch.setenv("PFCOMP_BOARD_WAIT", "20")
    monkeypatch.delenv("PFCOMP_BOARDS", raising=False)
