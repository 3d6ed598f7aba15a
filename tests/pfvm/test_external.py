"""Models with weights in a file beside them: written and read with a small limit; what must never be read."""

import os

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from pfcomp.artifacts import read_zst
from pfcomp.errors import SourceError
from pfcomp.frontend import capture, export
from pfcomp.frontend.names import set_tensor_name
from pfcomp.options import resolve
from pfcomp.passes.runner import optimise
from pfcomp.pfvm import PFVM, external
from pfcomp.pfvm.models import check_proto, read_proto, to_ir, to_opset
from pfcomp.stages import onnx as onnx_stage
from pfcomp.stages import trace
from pfcomp.stages.table import DATA, MODEL, SOURCE_DATA

WEIGHT, X = torch.arange(1200.0).reshape(30, 40) / 100, torch.ones(2, 30)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(external, "LIMIT", 2000)


def function(scale=1.0, dtype=torch.float32):
    state = torch.full((40,), 0.5)
    set_tensor_name(state, "state")
    weight = (WEIGHT * scale).to(dtype)

    def step(i):
        state.add_(1)
        return {"y": (i["x"].to(dtype) @ weight).float() + state}

    return step


def model(**kwargs):
    made = export(capture(function(**kwargs), {"x": X}))
    optimise(made)
    return made


EXPECTED = (X @ WEIGHT + 1.5).numpy()


def test_weights_lie_beside_the_model(tmp_path, small):
    made = model()
    assert external.write_model(made, tmp_path / MODEL) == (MODEL, DATA)
    assert np.allclose(PFVM(tmp_path / MODEL).run({"x": X.numpy()})["y"], EXPECTED)
    assert np.allclose(PFVM(made).run({"x": X.numpy()})["y"], EXPECTED)
    assert len(read_zst(tmp_path / MODEL)) < 2000
    (tmp_path / "m.onnx").write_bytes(read_zst(tmp_path / MODEL))
    loaded = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(loaded, full_check=True)
    assert WEIGHT.numpy().tobytes() in {tensor.raw_data for tensor in loaded.graph.initializer}


def test_bfloat16_weights(small):
    got = PFVM(model(dtype=torch.bfloat16)).run({"x": X.numpy()})["y"]
    assert np.allclose(got, EXPECTED, rtol=2e-2)


def test_equal_models_are_equal_files_and_the_model_knows_its_weights(tmp_path, small):
    files = []
    for number, scale in enumerate((1.0, 1.0, 2.0)):
        folder = tmp_path / str(number)
        folder.mkdir()
        external.write_model(model(scale=scale), folder / MODEL)
        files.append([(folder / name).read_bytes() for name in (MODEL, DATA)])
    assert files[0] == files[1]
    assert files[0][0] != files[2][0]
    assert files[0][1] != files[2][1]


def test_a_small_model_takes_the_place_of_a_large_one(tmp_path, monkeypatch):
    monkeypatch.setattr(external, "LIMIT", 2000)
    external.write_model(model(), tmp_path / MODEL)
    monkeypatch.undo()
    assert external.write_model(model(), tmp_path / MODEL) == (MODEL,)
    assert not (tmp_path / DATA).exists()


def test_stages(tmp_path, small):
    trace.trace_function(tmp_path, function(), {"x": X})
    assert onnx_stage.run(tmp_path, resolve(None, None)).files == (MODEL, DATA)
    external.copy_model(tmp_path / MODEL, tmp_path / "copy.onnx")
    assert onnx.load(tmp_path / "copy.onnx").graph.initializer
    second = tmp_path / "second"
    second.mkdir()
    assert SOURCE_DATA in trace.from_onnx(second, tmp_path / "copy.onnx").files
    onnx_stage.run(second, resolve(None, None))
    assert np.allclose(PFVM(second / MODEL).run({"x": X.numpy()})["y"], EXPECTED)


def test_a_copy_of_a_model_without_data(tmp_path):
    external.write_model(model(), tmp_path / MODEL)
    external.copy_model(tmp_path / MODEL, tmp_path / "copy.onnx")
    assert (tmp_path / "copy.onnx").read_bytes() == read_zst(tmp_path / MODEL)


def test_large_models_are_checked_and_converted_without_their_weights(small):
    weight = numpy_helper.from_array(WEIGHT.numpy(), "w")
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 30))
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, (2, 40))
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Softmax", ["m"], ["y"], axis=1)]
    graph = helper.make_graph(nodes, "g", [value], [result], [weight])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    check_proto(proto)
    converted = to_opset(proto, 18)
    assert [value.name for value in converted.graph.input] == ["x"]
    assert converted.opset_import[0].version == 18
    got = PFVM(to_ir(converted)).run({"x": X.numpy()})["y"]
    assert np.allclose(got, torch.softmax(X @ WEIGHT, 1).numpy(), rtol=1e-4)


def hostile(folder, location, **entries):
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[6], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": location, **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def written(folder, tensor=None, node=None):
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, (6,))
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, (6,))
    nodes = ([] if node is None else [node]) + [helper.make_node("Add", ["x", "w"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value], [result], [] if tensor is None else [tensor])
    path = folder / "m.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]).SerializeToString())
    return path


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "secret").write_bytes(bytes(24))
    inside = tmp_path / "model"
    (inside / "sub").mkdir(parents=True)
    (inside / "data").write_bytes(np.arange(6, dtype=np.float32).tobytes())
    (inside / "link").symlink_to(tmp_path / "secret")
    (inside / "inner").symlink_to(inside / "data")
    (inside / "out").symlink_to(tmp_path)
    os.mkfifo(inside / "pipe")
    return inside


def test_data_in_the_folder_is_read(folder):
    (folder / "sub" / "data").write_bytes(bytes(4) + np.arange(6, dtype=np.float32).tobytes())
    for tensor in (hostile(folder, "data"), hostile(folder, "sub/data", offset=4, length=24)):
        assert PFVM(written(folder, tensor)).run({"x": np.zeros(6)})["y"].tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("location", "entries", "text"),
    [
        ("../secret", {}, "is not inside"),
        ("sub/../data", {}, "is not inside"),
        ("/etc/hostname", {}, "is not inside"),
        ("", {}, "is not inside"),
        ("C:\\secret", {}, "is not inside"),
        ("link", {}, "symbolic links"),
        ("inner", {}, "symbolic links"),
        ("out/secret", {}, "symbolic links"),
        ("missing", {}, "No such file"),
        ("sub", {}, "not a plain file"),
        ("pipe", {}, "not a plain file"),
        ("data", {"offset": 4}, "behind the end"),
        ("data", {"offset": -4}, "behind the end"),
        ("data", {"length": 12}, "12 bytes for a tensor of 24"),
        ("data", {"offset": "x"}, "invalid literal"),
    ],
)
def test_nothing_else_is_read(folder, location, entries, text):
    with pytest.raises(SourceError, match=rf"PF0315: m.onnx: external data of 'w'.*{text}"):
        read_proto(written(folder, hostile(folder, location, **entries)))


def test_external_data_of_attributes_is_refused(folder):
    constant = helper.make_node("Constant", [], ["w"], value=hostile(folder, "data"))
    with pytest.raises(SourceError, match="which is no initializer"):
        read_proto(written(folder, node=constant))
    inner = helper.make_graph([], "inner", [], [], [hostile(folder, "data")])
    branch = helper.make_node("If", ["x"], ["w"], then_branch=inner, else_branch=inner)
    with pytest.raises(SourceError, match="which is no initializer"):
        read_proto(written(folder, node=branch))
