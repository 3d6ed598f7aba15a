"""The real stages through the command line: the tutorial's add, models, functions, resuming, determinism, mistakes."""

import json
import os
import subprocess
import sys

import numpy as np
import onnx
import pytest

from pfcomp.app import load_app
from pfcomp.cli import dump_gpfnapp
from pfcomp.cli.main import cli
from pfcomp.options import STAGES
from pfcomp.stages.manifest import require
from tests.app.test_roundtrip import SIX_LINES
from tests.cli.test_main import ends

FUNCTIONS = """\
import torch

def axpy(inputs):
    return {"out": inputs["x"] * 2.0 + inputs["y"]}

def unsupported(inputs):
    angle = torch.sin(inputs["x"].double())
    angle = torch.cos(angle)
    return {"out": torch.tan(angle)}
"""


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    return lambda *arguments, command=cli: ends(monkeypatch, capsys, command, *map(str, arguments))


@pytest.fixture
def example(request):
    return request.config.rootpath / "examples" / "add.py"


def tree(directory):
    return {p.name: p.read_bytes() for p in directory.iterdir()}


def test_the_tutorials_add(call, example, tmp_path):
    status, out, err = call("compile", example, "--option_json", "O1.json", "-o", "out")
    assert status == 0, err
    assert out.endswith("stopped before the first call of add\n")
    require(tmp_path / "out", "codegen")
    assert call("out/model.app", command=dump_gpfnapp.cli)[1].startswith(SIX_LINES)
    spans = json.loads(call("out", "--json", "--section", "debug", command=dump_gpfnapp.cli)[1])["debug"]
    assert {span["source"] for span in spans if span["op"] == "Add"} == {f"add.py:{line_of(example)}"}
    steps = {
        row["figures"]["steps"]
        for row in json.loads(call("compile", "out", "--json")[1])["compiled"][0]["stages"]
        if row["stage"] in ("simulate", "codegen")
    }
    assert steps == {load_app(tmp_path / "out" / "model.app").program.steps}


def line_of(example):
    lines = example.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if 'inputs["x"] + inputs["y"]' in line)


def test_a_function_with_samples_and_its_run(call, tmp_path):
    samples = ("--sample", "x=float32[2,3]", "--sample", "y=float32[3]")
    assert call("compile", "functions.py:axpy", *samples, "--option", "float_dtype=float", "--quiet") == (0, "", "")
    reference = np.full((2, 3), 3.0, np.float32)
    np.save(tmp_path / "ref.npy", reference)
    feeds = ("--input", "x=ones", "--input", "y=ones", "--expect", "out=ref.npy")
    assert call("run", "axpy.codegen", *feeds)[0] == 0
    np.save(tmp_path / "ref.npy", reference + 1)
    assert call("run", "axpy.codegen", *feeds)[0] == 1


@pytest.mark.parametrize("stop", STAGES[:-1])
def test_resumed_bytes_equal_one_shot_bytes(call, tmp_path, stop):
    flags = ("--sample", "x=float32[5]", "--sample", "y=float32[5]", "--option", "float_dtype=float", "--quiet")
    assert call("compile", "functions.py:axpy", "-o", "a", *flags)[0] == 0
    assert call("compile", "functions.py:axpy", "-o", "b", *flags, "--to", stop)[0] == 0
    for stage in STAGES[STAGES.index(stop) + 1 :]:
        assert call(stage, "b", "--quiet")[0] == 0
    assert tree(tmp_path / "a") == tree(tmp_path / "b")


def test_a_users_model(call, tmp_path):
    nodes = [onnx.helper.make_node("Add", ["a", "b"], ["c"]), onnx.helper.make_node("Relu", ["c"], ["d"])]
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4, 8]) for name in "abd"]
    graph = onnx.helper.make_graph(nodes, "g", values[:2], values[2:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, tmp_path / "m.onnx")
    status, _, err = call("compile", "m.onnx", "--option", "float_dtype=float")
    assert status == 0, err
    assert [info.name for info in load_app(tmp_path / "m.codegen" / "model.app").inputs] == ["a", "b"]
    assert call("compile", "m.onnx", "--option", "float_dtype=float")[1].count("fresh") == 4


@pytest.mark.parametrize("content", [b"", b"nonsense", b"\x28\xb5\x2f\xfd"])
def test_files_that_are_no_models(call, tmp_path, content):
    (tmp_path / "m.onnx").write_bytes(content)
    status, _, err = call("compile", "m.onnx")
    assert status in (3, 5)
    assert err.startswith("pfcomp: PF0")
    assert "m.onnx" in err
    assert err.count("\n") == 1


def test_unsupported_operators_are_all_listed_with_their_lines(call):
    status, _, err = call("compile", "functions.py:unsupported", "--sample", "x=float32[4]", "--quiet")
    assert status == 4
    assert err.count("\n") == 1
    assert all(f"functions.py:{line}" in err for line in (7, 8, 9))


def test_a_cut_app_is_refused_when_it_is_to_run(call, tmp_path):
    flags = ("--sample", "x=float32[5]", "--sample", "y=float32[5]", "--option", "float_dtype=float", "--quiet")
    call("compile", "functions.py:axpy", "-o", "out", *flags)
    app = tmp_path / "out" / "model.app"
    app.write_bytes(app.read_bytes()[:-1])
    status, _, err = call("run", "out", "--input", "x=ones", "--input", "y=ones")
    assert status == 5
    assert "PF05" in err
    assert err.count("\n") == 1


def test_a_folder_of_another_schema_is_not_run(call, tmp_path):
    flags = ("--sample", "x=float32[5]", "--sample", "y=float32[5]", "--option", "float_dtype=float", "--quiet")
    call("compile", "functions.py:axpy", "-o", "out", *flags)
    path = tmp_path / "out" / "manifest.json"
    path.write_text(path.read_text().replace('"schema": 1', '"schema": 99'))
    for arguments in (["run", "out"], ["codegen", "out"], ["compile", "functions.py:axpy", "-o", "out", *flags]):
        status, _, err = call(*arguments)
        assert status == 5
        assert err.startswith("pfcomp: PF0522: out: written with schema 99 of the folder, this version reads 1; delete")


def test_fresh_processes_give_the_same_bytes_also_into_one_folder(call, example, tmp_path, request):
    """Two processes into one folder at once, and this one into another; hash seeds, threads, working folders differ."""
    children = []
    for number in (1, 2):
        cwd = tmp_path / f"cwd{number}"
        cwd.mkdir()
        code = "from pfcomp.cli.main import main; main()"
        arguments = ["compile", example, "--option_json", "O1.json", "--quiet", "-o", tmp_path / "a"]
        variables = {"PYTHONHASHSEED": str(number), "OMP_NUM_THREADS": str(number)}
        environment = os.environ | variables | {"PYTHONPATH": str(request.config.rootpath)}
        command = [sys.executable, "-c", code, *arguments]
        children.append(subprocess.Popen(command, cwd=cwd, env=environment, stderr=subprocess.PIPE))
    assert call("compile", example, "--option_json", "O1.json", "--quiet", "-o", "deep/er/b")[0] == 0
    assert [(child.communicate()[1], child.returncode) for child in children] == [(b"", 0)] * 2
    first, second = tree(tmp_path / "a"), tree(tmp_path / "deep" / "er" / "b")
    for content in (first, second):
        del content["manifest.json"]  # names the compiler's sources, which may be edited between the processes
    assert first == second
