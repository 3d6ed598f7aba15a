"""Opening codegen_dirs: what is found where, first contents of states from the model beside the app."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from pfcomp.app import serialize
from pfcomp.errors import PfcompError
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.functions import find_file, open_program
from tests.runtime.apps import add_app

S = np.full((3, 4), 5, np.float32)


@pytest.fixture
def folder(tmp_path):
    """A codegen_dir of s += x, with the hand-written app and an ONNX model of the same meaning."""
    (tmp_path / "model.app").write_bytes(serialize(add_app(("x",), "s:out", state=("s",))))
    x, s, out = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [3, 4]) for name in ("x", "s", "s:out"))
    node = helper.make_node("Add", ["x", "s"], ["s:out"])
    graph = helper.make_graph([node], "step", [x, s], [out], [numpy_helper.from_array(S, "s")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.save(model, tmp_path / "model.onnx")
    return tmp_path


@pytest.mark.parametrize("device", ["emu2", "pfvm:cpu"])
def test_state_on_every_device(folder, device):
    program = open_program(parse_device(device), folder, "step")
    assert (list(program.inputs), list(program.outputs), list(program.state)) == (["x"], [], ["s"])
    assert program.mutated == {"s"}
    state = {"s": program.new_value("s")}
    state["s"].write(program.initial("s"))
    for _ in range(2):
        assert program.call({"x": program.bind("x", np.ones((3, 4), np.float32))}, state) == {}
    assert np.array_equal(state["s"].read(), S + 2)


def test_an_app_without_a_model_beside_it_knows_no_contents(folder):
    (folder / "model.onnx").unlink()
    with pytest.raises(PfcompError, match="PF0609"):
        open_program(parse_device("emu2"), folder / "model.app", "step").initial("s")


def test_what_is_missing_and_what_to_do(tmp_path):
    with pytest.raises(PfcompError, match=r"PF0613.*does not exist; compile into it first"):
        find_file(tmp_path / "none", ("model.app",), "codegen")
    with pytest.raises(PfcompError, match=r"PF0613.*has no model.app; compile into it, up to the stage codegen"):
        find_file(tmp_path, ("model.app", "model.app.zst"), "codegen")
