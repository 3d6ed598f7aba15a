"""`pfcomp doctor`, and the generated page of errors."""

import json
from pathlib import Path

from pfcomp.cli.main import cli
from pfcomp.error_page import render
from pfcomp.errors import ERRORS
from tests.cli.test_main import ends


def test_doctor_names_versions_and_engine(monkeypatch, capsys):
    status, out, err = ends(monkeypatch, capsys, cli, "doctor", "--json")
    assert (status, err) == (0, "")
    rows = json.loads(out)
    assert rows["torch"].startswith("2.13")
    assert rows["engine"]
    assert "missing" not in rows.values()
    assert "engine " in ends(monkeypatch, capsys, cli, "doctor")[1]


def test_doctor_says_what_is_missing(monkeypatch, capsys):
    monkeypatch.setattr("pfcomp.cli.doctor._PACKAGES", ("no-such-package",))
    status, out, err = ends(monkeypatch, capsys, cli, "doctor")
    assert status == 1
    assert "no-such-package missing" in out
    assert "pip install" in err


def test_every_error_code_is_documented():
    page = render()
    assert all(f"| {code} | `{info.kind.__name__}` |" in page for code, info in ERRORS.items())


def test_docs_page_is_current(request):
    page: Path = request.config.rootpath / "docs" / "errors.md"
    assert page.read_text(encoding="utf-8") == render(), "run python -m pfcomp.error_page > docs/errors.md"
