"""Compile-only runs of scripts: where they write, which options win, where they stop, what they say when wrong."""

import sys

import pytest
import torch

from pfcomp.errors import PfcompError, SourceError, UsageError
from pfcomp.options import STAGES
from pfcomp.stages import manifest
from pfcomp.stages.pipeline import compile_function
from pfcomp.stages.script import FunctionSource, load_function, parse_samples, run_script, split_source
from pfcomp.stages.source import CompileOnly, ExecutionReached, active, compile_only, execution_reached
from tests.stages.fakes import fakes

HEAD = """\
import sys
from pathlib import Path
from tests.stages.fakes import fakes
from pfcomp.stages.pipeline import compile_function
from pfcomp.stages.source import execution_reached
def compile(folder, **options):
    return compile_function(lambda i: i, {"x": 1}, Path(__file__).parent / folder, options, **fakes())
"""


@pytest.fixture
def script(tmp_path):
    def write(body):
        path = tmp_path / "script.py"
        path.write_text(HEAD + body)
        return path

    return write


def folders(root):
    return sorted(p.parent.relative_to(root).as_posix() for p in root.rglob("manifest.json"))


def test_ordinary_programs_are_not_touched():
    assert active() is None
    assert execution_reached("add") is False


def test_a_script_writes_its_own_folders_and_stops_at_the_first_call(script, tmp_path):
    path = script("compile('a'); compile('b/c'); execution_reached('add'); raise ValueError('not reached')")
    run = CompileOnly()
    assert run_script(path, (), run) == "add"
    assert folders(tmp_path) == ["a", "b/c"]
    assert [r.directory for r in run.results] == [tmp_path / "a", tmp_path / "b/c"]
    assert active() is None


def test_one_compile_goes_into_the_output_folder_itself(script, tmp_path):
    path = script("compile('a')")
    for _ in range(2):
        run = CompileOnly(tmp_path / "out")
        assert run_script(path, (), run) is None
        assert folders(tmp_path) == ["out"]
        assert run.results[0].directory == tmp_path / "out"
    assert [o.origin for o in run.results[0].stages] == ["ran", *["fresh"] * 4]


def test_several_compiles_go_into_folders_by_name_and_stay_fresh(script, tmp_path):
    path = script("compile('a'); compile('x/b'); compile('y/b'); compile('a')")
    for _ in range(2):
        run = CompileOnly(tmp_path / "out")
        run_script(path, (), run)
        assert folders(tmp_path) == ["out/a", "out/b", "out/b-2"]
        assert [r.directory.name for r in run.results] == ["a", "b", "b-2", "a"]
    assert all(o.origin == "fresh" for r in run.results for o in r.stages[1:])
    assert manifest.require(tmp_path / "out" / "a", "codegen")
    assert not (tmp_path / "out" / "model.app").exists()


def test_options_of_the_run_win(script, tmp_path):
    path = script("compile('a', float_dtype='float', scheduler='spill_opt', option_json='O4.json')")
    run_script(path, (), CompileOnly(option_json="O0.json", options={"float_dtype": "half"}))
    recorded = manifest.load(tmp_path / "a").options
    assert recorded["float_dtype"] == "half"
    assert recorded["scheduler"] == "spill_opt"
    assert recorded["layout_planner"] == "canonical"
    run_script(path, (), CompileOnly())
    assert manifest.load(tmp_path / "a").options["layout_planner"] == "anneal"


def test_the_last_stage_and_the_observer_are_the_runs(script, tmp_path):
    events = []
    run_script(script("compile('a')"), (), CompileOnly(stop="onnx", observer=events.append))
    assert [e.stage for e in events if e.kind == "finished"] == ["trace", "onnx"]
    assert list(manifest.load(tmp_path / "a").records) == ["trace", "onnx"]


def test_keep_going_executes_calls(script):
    path = script("compile('a'); assert execution_reached('f') is True; compile('b'); print('end')")
    run = CompileOnly(keep_going=True)
    assert run_script(path, (), run) is None
    assert len(run.results) == 2


def test_arguments_and_module_state_are_those_of_a_program(script, tmp_path):
    (tmp_path / "neighbour.py").write_text("folder = 'n'")
    path = script(
        "import neighbour\nassert __name__ == '__main__' and sys.argv == [__file__, '--device', 'emu2']\n"
        "compile(neighbour.folder)\nsys.exit(0)"
    )
    before = list(sys.argv), list(sys.path)
    run_script(path, ("--device", "emu2"), CompileOnly())
    assert (list(sys.argv), list(sys.path)) == before
    assert folders(tmp_path) == ["n"]


def test_except_exception_in_a_script_does_not_swallow_the_stop(script):
    path = script("compile('a')\ntry:\n    execution_reached('f')\nexcept Exception:\n    pass\nprint(1/0)")
    assert run_script(path, (), CompileOnly()) == "f"
    assert issubclass(ExecutionReached, BaseException)
    assert not issubclass(ExecutionReached, Exception)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1 / 0", r"PF0805: .*script\.py:8: the script raised ZeroDivisionError: division by zero"),
        ("raise ValueError", r"PF0805: .*: the script raised ValueError$"),
        ("sys.exit(3)", r"PF0805: .*: the script ended with status 3"),
        ("def f(:", r"PF0805: .*: SyntaxError: .* \(script\.py:8\)"),
        ("pass", r"PF0806: .*: the script compiled nothing; call Context\.compile"),
        ("execution_reached('f')", r"PF0806"),
    ],
)
def test_scripts_that_fail(script, body, message):
    with pytest.raises(SourceError, match=message):
        run_script(script(body), (), CompileOnly())


def test_typed_errors_of_a_script_pass_through(script):
    with pytest.raises(PfcompError, match=r"PF0802"):
        run_script(script("compile('a', float_dtype='quad')"), (), CompileOnly())


def test_scripts_that_cannot_be_read(tmp_path):
    with pytest.raises(SourceError, match=r"PF0804: .*none\.py: cannot be read \(No such file"):
        run_script(tmp_path / "none.py", (), CompileOnly())
    (tmp_path / "bytes.py").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceError, match=r"PF0804: .*bytes\.py: is not a Python text"):
        run_script(tmp_path / "bytes.py", (), CompileOnly())


def test_functions_of_files(tmp_path):
    source = split_source(f"{tmp_path}/f.py:add")
    assert source == FunctionSource(tmp_path / "f.py", "add")
    assert split_source("model.onnx").name == "model.onnx"
    (tmp_path / "f.py").write_text("def add(inputs):\n    return inputs\nassert __name__ != '__main__'\n")
    assert load_function(source)({"x": 1}) == {"x": 1}
    with pytest.raises(SourceError, match=r"PF0807: .*f\.py: there is no function sub; it defines add"):
        load_function(FunctionSource(tmp_path / "f.py", "sub"))


def test_samples():
    samples = parse_samples(["x=float32[3,4]", "n=int64[]", "model@a/b = bool[ 2 ]"])
    assert {n: (t.dtype, tuple(t.shape)) for n, t in samples.items()} == {
        "x": (torch.float32, (3, 4)),
        "n": (torch.int64, ()),
        "model@a/b": (torch.bool, (2,)),
    }
    for text in ("x", "x=float32", "x=quad[3]", "x=float32[a]", "=float32[1]", "x=zeros[1]"):
        with pytest.raises(UsageError, match=r"PF0808: sample .* is not understood; write name=dtype"):
            parse_samples([text])


def test_runs_nest_and_end(tmp_path):
    outer, inner = CompileOnly(), CompileOnly(tmp_path / "out", stop="trace")
    with compile_only(outer), compile_only(inner):
        assert active() is inner
        compile_function(lambda i: i, {}, "never", **fakes())
    assert active() is None
    assert (len(outer.results), len(inner.results)) == (0, 1)
    assert folders(tmp_path) == ["out"]
    assert STAGES[0] == "trace"
