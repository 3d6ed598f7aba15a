"""The stages trace and onnx on a folder: files, figures, resumption, equal bytes in fresh processes."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from pfcomp.artifacts import read_zst
from pfcomp.errors import ArtifactError, SourceError
from pfcomp.options import resolve
from pfcomp.pfvm import PFVM
from pfcomp.stages import onnx as onnx_stage
from pfcomp.stages import trace
from pfcomp.stages.table import MODEL

SCRIPT = """
import sys, torch
from pathlib import Path
from pfcomp.options import resolve
from pfcomp.stages import onnx, trace
weight = torch.arange(12.0).reshape(3, 4)
def f(i):
    noisy = torch.nn.functional.dropout(i["x"], 0.5)
    return {"out": torch.relu(noisy @ weight.T) * 2 - weight.sum()}
folder = Path(sys.argv[1])
trace.trace_function(folder, f, {"x": torch.ones(2, 4)})
onnx.run(folder, resolve(None, None))
"""


def model(dims=(2, 3)):
    value = helper.make_tensor_value_info("a", TensorProto.FLOAT, dims)
    result = helper.make_tensor_value_info("b", TensorProto.FLOAT, dims)
    return helper.make_model(
        helper.make_graph([helper.make_node("Relu", ["a"], ["b"])], "g", [value], [result]),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=9,
    )


def test_a_function_becomes_a_checked_model(tmp_path):
    report = trace.trace_function(
        tmp_path, lambda i: {"out": i["x"] + i["y"]}, {"x": torch.ones(3, 4), "y": torch.ones(3, 4)}
    )
    assert report.stage == "trace"
    assert ("inputs", 2) in report.figures
    again = trace.run(tmp_path, resolve(None, None))
    assert again == report
    report = onnx_stage.run(tmp_path, resolve(None, None))
    assert report.files == (MODEL,)
    proto = onnx.ModelProto.FromString(read_zst(tmp_path / MODEL))
    onnx.checker.check_model(proto, full_check=True)
    assert [o.version for o in proto.opset_import] == [18]
    result = PFVM(tmp_path / MODEL).run({"x": np.ones((3, 4)), "y": np.ones((3, 4))})
    assert np.all(result["out"] == 2)


def test_a_users_model_is_taken(tmp_path):
    source = tmp_path / "m.onnx"
    source.write_bytes(model().SerializeToString())
    trace.from_onnx(tmp_path, source)
    onnx_stage.run(tmp_path, resolve(None, None))
    assert "b = Relu(a)" in (tmp_path / "trace.txt").read_text()
    assert np.all(PFVM(tmp_path / MODEL).run({"a": -np.ones((2, 3))})["b"] == 0)


def test_unusable_models(tmp_path):
    source = tmp_path / "m.onnx"
    source.write_bytes(b"no model at all")
    with pytest.raises(SourceError, match=r"PF0315: m.onnx"):
        trace.from_onnx(tmp_path, source)
    source.write_bytes(model(("n", 3)).SerializeToString())
    with pytest.raises(SourceError, match=r"PF0316: m.onnx: input 'a' has a dynamic shape"):
        trace.from_onnx(tmp_path, source)


def test_external_data_stays_in_the_folder(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(bytes(24))
    proto = model()
    tensor = proto.graph.initializer.add(
        name="w", data_type=TensorProto.FLOAT, dims=[2, 3], data_location=TensorProto.EXTERNAL
    )
    tensor.external_data.add(key="location", value="../secret")
    (folder / "m.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(SourceError, match="not inside the model's folder"):
        trace.from_onnx(tmp_path, folder / "m.onnx")


def test_a_folder_without_a_capture(tmp_path):
    with pytest.raises(ArtifactError, match=r"PF0314"):
        trace.run(tmp_path, resolve(None, None))


def test_fresh_processes_write_the_same_bytes(tmp_path):
    digests = set()
    script = tmp_path / "f.py"
    script.write_text(SCRIPT)
    for number, seed in enumerate(("0", "7")):
        folder = tmp_path / f"out{number}"
        folder.mkdir()
        environment = os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": str(number + 1)}
        environment["PYTHONPATH"] = str(Path(__file__).parents[2])
        subprocess.run([sys.executable, str(script), str(folder)], check=True, env=environment, cwd=folder)
        names = sorted(path.name for path in folder.iterdir())
        digests.add(hashlib.sha256(b"".join((folder / name).read_bytes() for name in names)).hexdigest())
    assert len(digests) == 1
    assert str(tmp_path).encode() not in read_zst(tmp_path / "out0" / MODEL)
