"""`pfcomp verify`: right programs hold, and a wrong node is the first that is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from pfcomp.artifacts import canonical_json, read_zst, write_zst
from pfcomp.cli.verify import verify
from pfcomp.options import resolve
from pfcomp.plan import store
from pfcomp.stages import codegen, schedule, simulate
from pfcomp.stages.schedule import SCHEDULE, load_schedule
from pfcomp.verify.compare import errors
from tests.programs.general import FLOAT, Node, floats, model

f = floats(np.random.default_rng(7))
NODES = (Node("Gemm", "xwb", "y"), Node("Mul", "yc", "z"), Node("Softmax", "z", "o", {"axis": 1}))


def compile_in(folder: Path, float_dtype: str) -> Path:
    inputs = {"x": f(12, 20), "w": f(20, 8), "b": f(8)}
    constants = {"c": np.array(0.5, np.float32)}
    write_zst(folder / "model.onnx.zst", model(NODES, inputs, {"o": FLOAT, "z": FLOAT}, constants))
    for stage in (schedule, simulate, codegen):
        stage.run(folder, resolve({"float_dtype": float_dtype}))
    return folder


@pytest.fixture
def compiled(tmp_path: Path) -> Path:
    return compile_in(tmp_path, "float")


def test_a_right_program_holds(compiled: Path) -> None:
    result = CliRunner().invoke(verify, [str(compiled), "--input", "x=rand:3", "--json"])
    report = json.loads(result.output)
    assert result.exit_code == 0
    assert report["held"]
    modes = [row["mode"] for row in report["values"]]
    assert {"isolated", "accumulated", "program"} == set(modes)
    tensors = {row["tensor"] for row in report["values"] if row["mode"] == "isolated"}
    assert {"z", "o"} <= tensors


def test_products_of_halves_hold_before_and_behind_their_bias(tmp_path: Path) -> None:
    """The product has no reference value; its rounding shows in the node that adds the bias."""
    result = CliRunner().invoke(verify, [str(compile_in(tmp_path, "mixed")), "--input", "x=rand:3", "--json"])
    (row,) = [r for r in json.loads(result.output)["values"] if (r["mode"], r["tensor"]) == ("isolated", "z")]
    assert row["found"]["relative"] > 2.0**-20
    assert result.exit_code == 0


def test_a_wrong_node_is_named_with_its_line(compiled: Path) -> None:
    planned = load_schedule(compiled)
    immediates = tuple((n, d, bits + (1 << 20 if n == "c" else 0)) for n, d, bits in planned.graph.immediates)
    wrong = replace(planned, graph=replace(planned.graph, immediates=immediates))
    write_zst(compiled / SCHEDULE, canonical_json(store.to_json(wrong)))
    codegen.run(compiled, resolve({"float_dtype": "float"}))
    assert read_zst(compiled / SCHEDULE)
    result = CliRunner().invoke(verify, [str(compiled)])
    assert result.exit_code == 1
    last = result.output.splitlines()[-1]
    assert "out of bounds; the first is" in last
    assert "(program.py:" in last


def test_errors_of_values() -> None:
    wanted = np.array([1.0, -2.0, np.inf, 0.0], np.float32)
    same = errors(wanted, wanted)
    assert (same.absolute, same.relative, same.ulps) == (0, 0, 0)
    assert same.cosine == pytest.approx(1)
    off = errors(np.array([1.0, -2.5, np.inf, 0.0], np.float32), wanted)
    assert (off.absolute, off.relative) == (0.5, 0.25)
    assert off.ulps == pytest.approx(0.5 / float(np.spacing(np.float32(2))))
    assert errors(np.array([1.0, -2.0, 7.0, 0.0], np.float32), wanted).absolute == np.inf
    assert errors(np.array([1, 0]), np.array([0, 1])).cosine == 0
