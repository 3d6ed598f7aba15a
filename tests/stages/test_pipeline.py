"""The pipeline on fake stages: what runs, what is skipped, what it leaves behind, and its errors."""

import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from onnx import helper

from pfcomp.artifacts import read_zst, write_zst
from pfcomp.errors import ArtifactError, PfcompError, SourceError, UsageError
from pfcomp.options import STAGES, resolve
from pfcomp.stages import manifest as manifests
from pfcomp.stages.execute import locked
from pfcomp.stages.pipeline import compile_function, compile_onnx, run_stages
from pfcomp.stages.report import StageReport
from pfcomp.stages.table import FILES, MODEL, TABLE, stage_range
from tests.stages.fakes import fake_tables, fakes, model_fakes


def function(inputs):
    return inputs


@pytest.fixture
def ran():
    return []


@pytest.fixture
def build(ran):
    """Compiles; returns the names of the stages that ran."""

    def call(directory, options=None, **keywords):
        ran.clear()
        compile_function(function, {"x": 1}, directory, options, **fakes(ran), **keywords)
        return list(ran)

    return call


def tree(directory):
    return {p.name: p.read_bytes() for p in directory.iterdir()}


def test_all_stages_run_in_order_and_write_their_files(tmp_path, build):
    assert build(tmp_path / "a") == list(STAGES)
    other_source, beside = "source.onnx.zst", {"source.onnx.data", "model.onnx.data"}
    assert set(tree(tmp_path / "a")) == {*FILES, "manifest.json", ".lock"} - {other_source, *beside}


def test_only_trace_runs_again_when_nothing_changed(tmp_path, build):
    build(tmp_path)
    before = tree(tmp_path)
    assert build(tmp_path) == ["trace"]
    assert tree(tmp_path) == before


def test_an_option_reruns_the_stages_whose_key_it_enters_and_what_follows(tmp_path, build):
    build(tmp_path)
    assert build(tmp_path, {"float_dtype": "float"}) == list(STAGES)
    assert build(tmp_path, {"float_dtype": "float", "num_threads": "4"}) == ["trace"]
    assert build(tmp_path, {"float_dtype": "float", "sram_budget": "0.5"}) == ["trace", "schedule", "codegen"]


def test_folder_and_manifest_have_the_same_bytes_after_detours(tmp_path, build):
    build(tmp_path / "a", {"float_dtype": "float"})
    build(tmp_path / "b", {"float_dtype": "half"})
    build(tmp_path / "b", {"float_dtype": "float"})
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


@pytest.mark.parametrize("stage", STAGES)
def test_resumed_equals_one_shot(tmp_path, build, stage):
    build(tmp_path / "a", {"float_dtype": "float"})
    build(tmp_path / "b", {"float_dtype": "float"}, stop=stage)
    if stage != "codegen":
        start = STAGES[STAGES.index(stage) + 1]
        run_stages(tmp_path / "b", start, tables=fake_tables())
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_stopping_early_removes_what_was_made_from_other_inputs(tmp_path, build):
    build(tmp_path / "a", {"float_dtype": "float"})
    build(tmp_path / "b", {"float_dtype": "float"}, stop="onnx")
    build(tmp_path / "c", {"float_dtype": "half"})
    assert build(tmp_path / "c", {"float_dtype": "float"}, stop="onnx") == ["trace", "onnx"]
    assert tree(tmp_path / "b") == tree(tmp_path / "c")
    before = tree(tmp_path / "a")
    build(tmp_path / "a", {"float_dtype": "float"}, stop="onnx")
    assert tree(tmp_path / "a") == before


def test_a_damaged_output_is_made_again_by_compile(tmp_path, build):
    build(tmp_path)
    (tmp_path / "layout.json").write_bytes(b"{}")
    assert build(tmp_path) == ["trace", "schedule"]
    (tmp_path / "model.app").unlink()
    assert build(tmp_path) == ["trace", "codegen"]


def test_an_edited_file_is_kept_by_run_stages_and_what_follows_runs(tmp_path, build, ran):
    build(tmp_path)
    write_zst(tmp_path / "schedule.json.zst", b"edited")
    ran.clear()
    run_stages(tmp_path, tables=fake_tables(ran))
    assert ran == ["simulate", "codegen"]
    assert b"edited" in (tmp_path / "model.app").read_bytes()
    ran.clear()
    run_stages(tmp_path, tables=fake_tables(ran))
    assert ran == []


def test_run_stages_uses_the_recorded_options_and_takes_others(tmp_path, build, ran):
    build(tmp_path, {"float_dtype": "float"})
    ran.clear()
    run_stages(tmp_path, "schedule", "schedule", {"float_dtype": "half"}, tables=fake_tables(ran))
    assert ran == ["schedule"]
    assert b"schedule:half" in read_zst(tmp_path / "schedule.json.zst")
    run_stages(tmp_path, option_json="O0.json", tables=fake_tables())
    assert json.loads((tmp_path / "manifest.json").read_text())["options"] == {
        "float_dtype": "half",
        **resolve(None, "O0.json").changed(),
    }


def test_a_failing_stage_leaves_no_record_of_itself(tmp_path, build):
    build(tmp_path)
    keywords = fakes()
    tables = keywords["tables"]

    def fail(directory, options):
        (directory / "l3ir.txt").write_text("half written")
        raise SourceError("PF0805", "no")

    tables["schedule"] = replace(tables["schedule"], run=fail)
    events = []
    with pytest.raises(SourceError):
        compile_function(function, {"x": 1}, tmp_path, {"float_dtype": "half"}, **keywords, observer=events.append)
    assert [(e.kind, e.stage) for e in events][-2:] == [("started", "schedule"), ("failed", "schedule")]
    assert "schedule" not in manifests.load(tmp_path).records
    with pytest.raises(ArtifactError, match=r"PF0523"):
        manifests.require(tmp_path, "schedule")


def test_events_and_result_carry_the_figures_also_of_skipped_stages(tmp_path, build):
    build(tmp_path)
    events = []
    result = compile_function(function, {"x": 1}, tmp_path, **fakes(), observer=events.append)
    assert [(e.kind, e.stage) for e in events] == [
        ("started", "trace"),
        ("finished", "trace"),
        *(("skipped", stage) for stage in STAGES[1:]),
    ]
    assert [o.origin for o in result.stages] == ["ran", "fresh", "fresh", "fresh", "fresh"]
    assert all(dict(o.figures)["bytes"] > 0 for o in result.stages)
    assert result.app == tmp_path / "model.app"


def test_onnx_source(tmp_path, ran):
    model = tmp_path / "m.onnx"
    model.write_bytes(b"model")
    out = tmp_path / "out"
    compile_onnx(model, out, **model_fakes(ran))
    assert ran == list(STAGES)
    before = tree(out)
    ran.clear()
    write_zst(tmp_path / "m2.onnx.zst", b"model")
    compile_onnx(tmp_path / "m2.onnx.zst", out, **model_fakes(ran))
    assert ran == ["trace"]
    assert tree(out) == before


def test_the_kind_of_source_may_change(tmp_path, build, ran):
    model = tmp_path / "m.onnx"
    model.write_bytes(b"model")
    build(tmp_path / "a")
    compile_onnx(model, tmp_path / "a", **model_fakes(ran))
    compile_onnx(model, tmp_path / "b", **model_fakes(ran))
    assert tree(tmp_path / "a") == tree(tmp_path / "b")
    build(tmp_path / "a")
    build(tmp_path / "c")
    assert tree(tmp_path / "a") == tree(tmp_path / "c")


def test_out_onnx_receives_the_model(tmp_path):
    keywords = fakes()

    def write_model(directory, options):
        model = helper.make_model(helper.make_graph([], "empty", [], []))
        write_zst(directory / MODEL, model.SerializeToString())
        return StageReport("onnx", (), (MODEL,))

    keywords["tables"]["onnx"] = replace(keywords["tables"]["onnx"], run=write_model)

    def build(directory, options):
        compile_function(function, {"x": 1}, directory, options, **keywords)

    build(tmp_path / "a", {"out_onnx": str(tmp_path / "model.onnx")})
    assert (tmp_path / "model.onnx").read_bytes() == read_zst(tmp_path / "a" / "model.onnx.zst")
    with pytest.raises(UsageError, match=r"PF0502: .*none: cannot be written"):
        build(tmp_path / "a", {"out_onnx": str(tmp_path / "none" / "model.onnx")})


def test_a_missing_onnx_file(tmp_path):
    with pytest.raises(SourceError, match=r"PF0804: .*none\.onnx: no such model file"):
        compile_onnx(tmp_path / "none.onnx", tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda m: m | {"schema": 99}, "PF0522"),
        (lambda m: m | {"pfcomp": "9.9"}, "PF0522"),
        (lambda m: {"other": 1}, "PF0521"),
        (lambda m: m | {"stages": {"trace": 1}}, "PF0521"),
        (lambda m: [], "PF0521"),
    ],
)
def test_a_folder_of_another_schema_or_version_or_damaged(tmp_path, build, change, code):
    build(tmp_path)
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ArtifactError, match=code + ".*; delete the folder and compile again"):
        run_stages(tmp_path, tables=fake_tables())


def test_compiling_anew_takes_over_an_old_version_but_not_another_schema(tmp_path, build):
    build(tmp_path)
    path = tmp_path / "manifest.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"pfcomp": "0.0.1"}))
    assert build(tmp_path) == list(STAGES)
    path.write_text("{")
    assert build(tmp_path) == list(STAGES)
    path.write_text(json.dumps(content | {"schema": 2}))
    with pytest.raises(ArtifactError, match=r"PF0522.*schema 2"):
        build(tmp_path)


def test_readers_of_a_folder(tmp_path, build):
    manifests.check_readable(tmp_path / "none")
    build(tmp_path)
    manifests.check_readable(tmp_path)
    manifest = manifests.load(tmp_path)
    manifest.without("codegen").save(tmp_path)
    with pytest.raises(ArtifactError, match=r"PF0523: .*: its last compilation did not come to an end"):
        manifests.check_readable(tmp_path)
    (tmp_path / "model.app").unlink()
    manifests.check_readable(tmp_path)
    (tmp_path / "manifest.json").write_text('{"schema": 7}')
    with pytest.raises(ArtifactError, match=r"PF0522"):
        manifests.check_readable(tmp_path)


def test_a_changed_compiler_runs_everything_again(tmp_path, build, monkeypatch):
    build(tmp_path)
    monkeypatch.setattr(manifests, "code_digest", lambda: "other")
    assert build(tmp_path) == list(STAGES)


def test_no_codegen_dir(tmp_path):
    with pytest.raises(ArtifactError, match=r"PF0520.*no manifest.json"):
        run_stages(tmp_path)
    with pytest.raises(ArtifactError, match=r"PF0520.*no such folder"):
        run_stages(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []


def test_a_missing_input_names_file_and_stage(tmp_path, build):
    build(tmp_path, stop="onnx")
    (tmp_path / "model.onnx.zst").unlink()
    with pytest.raises(ArtifactError, match=r"PF0523: .*: model\.onnx\.zst is missing; .*stage schedule reads it"):
        run_stages(tmp_path, "schedule", tables=fake_tables())


def test_an_unwritable_folder_is_named(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(UsageError, match=r"PF0502: .*file/out: cannot be written .*; choose another folder"):
        compile_function(function, {"x": 1}, blocked / "out", **fakes())


def test_a_read_only_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # the tests may run as root, whom no mode stops
    with pytest.raises(UsageError, match=r"PF0502.*Permission denied"):
        compile_function(function, {"x": 1}, tmp_path, **fakes())


def test_a_folder_in_use_gives_up_in_time(tmp_path):
    with locked(tmp_path), pytest.raises(UsageError, match=r"PF0524.*another process"), locked(tmp_path, 0.05):
        pytest.fail("two holders of one lock")


def test_stage_ranges():
    assert stage_range(None, None) == STAGES
    assert stage_range("onnx", "schedule") == ("onnx", "schedule")
    with pytest.raises(UsageError, match="no stage 'link'"):
        stage_range("link", None)
    with pytest.raises(UsageError, match="comes after"):
        stage_range("codegen", "onnx")


def test_require_accepts_a_complete_folder_and_names_what_is_wrong(tmp_path, build):
    build(tmp_path)
    assert manifests.require(tmp_path, "codegen").records
    (tmp_path / "model.app").write_bytes(b"")
    with pytest.raises(ArtifactError, match=r"PF0523.*model\.app is missing or changed; run `pfcomp codegen`"):
        manifests.require(tmp_path, "codegen")


_CHILD = """
import sys, time
sys.path.insert(0, {root!r})
from tests.stages.fakes import fakes
from pfcomp.stages.pipeline import compile_function
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    compile_function(lambda inputs: inputs, {{"x": 1}}, {out!r}, {options}, **fakes())
"""


def test_two_processes_compile_into_one_folder(tmp_path, build, request):
    root = str(request.config.rootpath)
    out = tmp_path / "out"
    texts = [_CHILD.format(root=root, out=str(out), options={"float_dtype": d}) for d in ("float", "half")]
    children = [
        subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for text in texts
    ]
    for child in children:
        child.stdout.readline()
    for child in children:
        child.stdin.write("\n")
        child.stdin.flush()
    assert [child.wait(60) for child in children] == [0, 0]
    for child in children:
        child.stdin.close()
        child.stdout.close()
    build(tmp_path / "float", {"float_dtype": "float"})
    build(tmp_path / "half", {"float_dtype": "half"})
    manifests.require(out, "codegen")
    expected = [tree(tmp_path / name) for name in ("float", "half")]
    for content in (found := tree(out)), *expected:
        del content["manifest.json"]  # names the compiler's sources, which may change between the processes
    assert found in expected


def test_a_process_killed_while_writing_leaves_nothing_behind(tmp_path, build, request):
    code = (
        f"import sys; sys.path.insert(0, {str(request.config.rootpath)!r})\n"
        "import os, signal\nfrom pathlib import Path\nfrom pfcomp import artifacts\n"
        "artifacts.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"artifacts.atomic_write(Path({str(tmp_path)!r}) / 'model.app', b'half')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert [p.suffix for p in tmp_path.iterdir()] == [".tmp"]
    time.sleep(0)
    build(tmp_path)
    assert not list(tmp_path.glob(".*.tmp"))


_KILLED = """
import os, signal, sys
sys.path.insert(0, {root!r})
from dataclasses import replace
from pfcomp.artifacts import atomic_write
from pfcomp.stages import manifest
from pfcomp.stages.pipeline import compile_function
from pfcomp.stages.table import TABLE
from tests.stages.fakes import fakes
manifest.code_digest = lambda: "code"
keywords = fakes()
def killed(directory, *_rest):
    atomic_write(directory / TABLE[{stage!r}].outputs[0], b"half")
    os.kill(os.getpid(), signal.SIGKILL)
if {stage!r} == "trace":
    keywords["trace"] = killed
else:
    keywords["tables"][{stage!r}] = replace(TABLE[{stage!r}], run=killed)
compile_function(lambda i: i, {{"x": 1}}, {out!r}, {{"float_dtype": "half"}}, **keywords)
"""


@pytest.mark.parametrize("stage", STAGES)
def test_a_process_killed_in_a_stage_leaves_a_folder_that_is_made_whole(tmp_path, build, stage, request, monkeypatch):
    monkeypatch.setattr(manifests, "code_digest", lambda: "code")
    build(tmp_path / "a")
    code = _KILLED.format(root=str(request.config.rootpath), stage=stage, out=str(tmp_path / "a"))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    with pytest.raises(ArtifactError, match=f"PF0523: .*: stage {stage} is not complete"):
        manifests.require(tmp_path / "a", stage)
    build(tmp_path / "a")
    build(tmp_path / "b")
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_every_error_names_its_kind():
    assert all(issubclass(kind, PfcompError) for kind in (ArtifactError, SourceError, UsageError))
    assert set(TABLE) == set(STAGES)
