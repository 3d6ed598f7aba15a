"""Scripts under `pfcomp compile`: where they end, and what `--keep-going` runs."""

import pytest
import torch

from mlsdk import Context, MNDevice
from pfcomp.stages.source import CompileOnly, ExecutionReached, compile_only

X = torch.ones(32, 64)


def script(folder):
    context = Context(MNDevice("emu2"))
    consumer = context.compile(lambda i: {"out": i["value"] + 1}, {"value": X}, folder / "consumer")
    wanted = consumer.input_specs["value"]
    producer = context.compile(
        lambda i: {"doubled": i["x"] * 2}, {"x": X}, folder / "producer", io_spec_constraints={"doubled": wanted}
    )
    return consumer({"value": producer({"x": X})["doubled"]})["out"]


def test_the_script_ends_at_the_first_call(tmp_path):
    with compile_only(CompileOnly()) as run, pytest.raises(ExecutionReached):
        script(tmp_path)
    assert len(run.results) == 2


def test_without_apps_it_ends_where_one_is_needed(tmp_path):
    with compile_only(CompileOnly(stop="onnx")) as run, pytest.raises(ExecutionReached):
        script(tmp_path)
    assert len(run.results) == 1


def test_keep_going_compiles_the_same_and_runs_on_the_host(tmp_path):
    result = script(tmp_path / "alone")
    assert torch.equal(result.cpu(), torch.full((32, 64), 3.0))
    with compile_only(CompileOnly(keep_going=True)):
        result = script(tmp_path / "kept")
    assert isinstance(result, torch.Tensor)
    assert torch.equal(result, torch.full((32, 64), 3.0))
    for name in ("consumer", "producer"):
        apps = [(tmp_path / run / name / "model.app").read_bytes() for run in ("alone", "kept")]
        assert apps[0] == apps[1]
