"""`dump_gpfnapp`."""

import json

import pytest

from pfcomp.app import serialize, write_app
from pfcomp.cli.dump_gpfnapp import cli
from pfcomp.isa import parse
from tests.app.apps import add_app
from tests.app.test_roundtrip import SIX_LINES
from tests.cli.test_main import ends


@pytest.fixture
def dump(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    write_app(add_app(), tmp_path / "model.app")
    write_app(add_app(), tmp_path / "other.app.zst")
    return lambda *arguments: ends(monkeypatch, capsys, cli, *arguments)


@pytest.mark.parametrize("target", ["model.app", "other.app.zst", "."])
def test_the_text_begins_with_the_six_lines(dump, target):
    status, out, err = dump(target)
    assert (status, err) == (0, "")
    assert out.startswith(SIX_LINES)


def test_sections_nodes_and_json(dump):
    assert dump("model.app", "--section", "debug", "--node", "load")[1].splitlines()[1:] == [
        "debug:",
        "  0-2: load Download",
    ]
    content = json.loads(dump("model.app", "--json")[1])
    assert content["outputs"][0]["name"] == "out"
    assert content["program"]["steps"] == add_app().program.steps


def test_disassembly(dump):
    assert parse(dump("model.app", "--disasm")[1]) == add_app().program
    assert len(json.loads(dump("model.app", "--disasm", "--json")[1])["program"]) == 18


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["none.app"], 5, "PF0501: none.app: cannot be read"),
        (["cut.app"], 5, "PF0512: cut.app: damaged or cut short"),
        (["model.app", "--section", "code"], 2, "PF0801: an app has no section 'code'"),
        (["model.app", "--node", "mul", "--disasm"], 2, "PF0801: the app has no node 'mul'"),
    ],
)
def test_mistakes(dump, tmp_path, arguments, status, message):
    (tmp_path / "cut.app").write_bytes(serialize(add_app())[:-1])
    code, out, err = dump(*arguments)
    assert (code, out) == (status, "")
    assert err.startswith(f"pfcomp: {message}")
    assert err.count("\n") == 1
