"""`pfcomp compile`, the commands of single stages and `options` on fake stages."""

import json
import sys

import pytest

from pfcomp.cli.main import cli
from pfcomp.cli.show import Display
from pfcomp.options import STAGES
from pfcomp.stages import pipeline
from pfcomp.stages.pipeline import compile_function
from pfcomp.stages.summary import figure_text, result_lines, result_table
from tests.cli.test_main import ends
from tests.stages.fakes import fake_tables, fakes

SCRIPT = """\
import sys
from tests.stages.fakes import fakes
from pfcomp.stages.pipeline import compile_function
from pfcomp.stages.source import execution_reached
print("from the script", *sys.argv[1:])
compile_function(lambda i: i, {"x": 1}, "own", {"float_dtype": "float"}, **fakes())
execution_reached("add")
"""


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Runs `pfcomp ...` in a folder of its own; returns exit status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "run_stages", pipeline.run_stages)
    for module in ("pfcomp.cli.compile", "pfcomp.cli.stage_commands"):
        __import__(module)
        monkeypatch.setattr(sys.modules[module], "run_stages", _with_fakes(pipeline.run_stages))
    (tmp_path / "script.py").write_text(SCRIPT)
    return lambda *arguments: ends(monkeypatch, capsys, cli, *arguments)


def _with_fakes(function):
    return lambda *args, **keywords: function(*args, **keywords, tables=fake_tables())


def test_script(call, tmp_path):
    status, out, err = call("compile", "script.py", "-o", "out", "--option_json", "O1.json", "--", "--device", "emu2")
    assert status == 0, err
    assert [line.split()[0] for line in out.splitlines()] == ["from", *STAGES, "total", "stopped"]
    assert out.startswith("from the script --device emu2\n")
    assert out.endswith("stopped before the first call of add\n")
    assert [line.split(":")[1].strip() for line in err.splitlines()] == list(STAGES)
    assert (tmp_path / "out" / "model.app").exists()
    assert not (tmp_path / "own").exists()


def test_script_into_its_own_folder_and_again(call, tmp_path):
    assert call("compile", "script.py", "--quiet") == (0, "from the script\n", "")
    assert (tmp_path / "own" / "model.app").exists()
    status, out, err = call("compile", "script.py")
    assert status == 0
    assert err.count("fresh") == out.count("fresh") == 4


def test_json(call):
    status, out, err = call("compile", "script.py", "-o", "out", "--json")
    assert (status, err) == (0, "from the script\n")
    content = json.loads(out)
    assert content["stopped_before"] == "add"
    assert [row["stage"] for row in content["compiled"][0]["stages"]] == list(STAGES)
    assert content["compiled"][0]["stages"][4]["figures"]["bytes"] > 0


def test_continuing_in_a_folder(call, tmp_path):
    call("compile", "script.py", "-o", "out", "--to", "onnx")
    assert not (tmp_path / "out" / "l3ir.txt").exists()
    status, out, _ = call("compile", "script.py", "-o", "out", "--from", "schedule", "--to", "simulate")
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()] == ["schedule", "simulate", "total"]
    status, out, _ = call("compile", "out", "--option", "sram_budget=0.5")
    assert [line.split()[0] for line in out.splitlines() if "fresh" not in line] == ["schedule", "codegen", "total"]
    assert call("compile", "out", "--from", "codegen", "--to", "onnx")[0] == 2


@pytest.mark.parametrize("stage", STAGES)
def test_single_stages(call, stage):
    call("compile", "script.py", "-o", "out")
    status, out, err = call(stage, "out", "--json")
    assert (status, err) == (0, "")
    assert [(row["stage"], row["origin"]) for row in json.loads(out)["compiled"][0]["stages"]] == [(stage, "fresh")]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["compile", "none.py"], 3, "PF0804: none.py: cannot be read (No such file or directory)"),
        (["compile", "none"], 3, "PF0804: none: no such file or folder"),
        (["compile", "none.onnx", "-o", "out"], 3, "PF0804: none.onnx: no such model file"),
        (["compile", "script.py:nothing", "-o", "out"], 3, "PF0807: script.py: there is no function nothing"),
        (["compile", "script.py", "--option", "x"], 2, "PF0802: --option 'x' is not of the form name=value"),
        (["compile", "script.py", "--option_json", "O9.json"], 2, "PF0803: O9.json: no such option file"),
        (["compile", "script.py", "--sample", "x=float32[1]"], 2, "PF0801: --sample goes with"),
        (["compile", "m.onnx", "argument"], 2, "PF0801: arguments 'argument' go with a script only"),
        (["compile", "script.py:f", "--sample", "x"], 2, "PF0808: sample 'x' is not understood"),
        (["compile", "script.py", "-o", "script.py/out"], 2, "PF0502: script.py/out: cannot be written"),
        (["compile", "script.py", "-o", "out", "--from", "onnx"], 5, "PF0520: out: no such folder"),
        (["schedule", "."], 5, "PF0520: .: no codegen_dir (it has no manifest.json)"),
        (["schedule", "none"], 5, "PF0520: none: no such folder"),
    ],
)
def test_mistakes_are_one_line(call, arguments, status, message):
    code, _, err = call(*arguments)
    assert code == status
    assert err.startswith(f"pfcomp: {message}")
    assert err.count("\n") == 1


@pytest.mark.filterwarnings("always")
def test_unknown_options_warn(call):
    status, _, err = call("compile", "script.py", "-o", "out", "--quiet", "--option", "scheduller=spill_opt")
    assert status == 0
    assert err == "pfcomp: warning: unknown option 'scheduller' ignored; did you mean 'scheduler'?\n"


def test_options_table(call):
    status, out, _ = call("options", "--option_json", "O2.json")
    assert status == 0
    assert "sa_steps = 1000\n" in out
    assert "presets: O0.json, O1.json, O2.json, O3.json, O4.json, debug.json\n" in out
    rows = json.loads(call("options", "--json")[1])["options"]
    assert {row["name"]: row["value"] for row in rows}["float_dtype"] == "mixed"


def test_progress_on_a_terminal_overwrites_one_line(tmp_path, capsys):
    display = Display(terminal=True)
    compile_function(lambda i: i, {}, tmp_path / "out", observer=display, **fakes())
    err = capsys.readouterr().err
    assert err.count("\n") == 0
    assert err.count("\r\x1b[K") == 2 * len(STAGES)
    assert err.endswith("\r\x1b[K")


def test_summary_forms(tmp_path):
    from rich.console import Console

    result = compile_function(lambda i: i, {}, tmp_path / "out", **fakes())
    console = Console(width=100, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(result_table(result))
    console.file.close()
    text = console.export_text()
    assert all(stage in text for stage in STAGES)
    assert "total" in text
    assert len(result_lines(result)) == len(STAGES) + 1
    assert [figure_text("n", v) for v in (1234567, 0.123456, "a")] == ["n 1,234,567", "n 0.1235", "n a"]
