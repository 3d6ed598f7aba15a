"""A codegen_dir is a pure function of its source: no hash order, folder, thread count or neighbour shows in it."""

from __future__ import annotations

from pathlib import Path

from tests.acceptance.commands import start, succeed

PROGRAM = """\
import torch


def f(inputs):
    a = inputs["x"] * 2 + inputs["y"]
    b = torch.relu(a) - torch.minimum(inputs["y"], a)
    return {"first": b, "second": torch.abs(-a) + 1.5, "same": inputs["x"]}
"""
TRAINING = """\
import torch
from mlsdk import Context, MNCoreSGD, MNDevice, set_buffer_name_in_optimizer, set_tensor_name_in_module, storage

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(12, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
context = Context(MNDevice("emu2"))
set_tensor_name_in_module(model, "model")
set_buffer_name_in_optimizer(optimizer, "optimizer")
for parameter in model.parameters():
    context.register_param(parameter)
context.register_optimizer_buffers(optimizer)


def step(inputs):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(inputs["x"]), inputs["t"])
    loss.backward()
    optimizer.step()
    return {"loss": loss}


context.compile(step, {"x": torch.ones(8, 12), "t": torch.zeros(8, dtype=torch.long)}, storage.path("out"))
"""
SAMPLE = ("--sample", "x=float32[33,70]", "--sample", "y=float32[70]")


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.is_file() and not p.name.endswith(".lock")}


def test_fresh_processes_agree(tmp_path: Path) -> None:
    results = []
    for number, (seed, threads) in enumerate((("1", "1"), ("77", "2"))):
        folder = tmp_path / f"run{number}" / ("deeper" * number)
        folder.mkdir(parents=True)
        (folder / "prog.py").write_text(PROGRAM)
        env = {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads}
        option = ("--option", f"num_threads={threads}")
        succeed("pfcomp", "compile", folder / "prog.py:f", *SAMPLE, *option, "-o", folder / "out", "--quiet", env=env)
        results.append(contents(folder / "out"))
    assert results[0].keys() == results[1].keys()
    for name, data in results[0].items():
        assert data == results[1][name], name


def test_a_training_step_does_not_depend_on_hashes(tmp_path: Path) -> None:
    """Lowering, layouts, order, spills and relayouts of the general planner, with states and a backward pass."""
    results = []
    for seed in ("1", "77"):
        folder = tmp_path / seed
        folder.mkdir()
        (folder / "train.py").write_text(TRAINING)
        succeed(folder / "train.py", env={"PYTHONHASHSEED": seed}, cwd=folder)
        results.append(contents(folder / "out"))
    assert "model.app" in results[0]
    assert results[0].keys() == results[1].keys()
    for name, data in results[0].items():
        assert data == results[1][name], name


def test_two_processes_write_one_folder(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    command = ("pfcomp", "compile", tmp_path / "prog.py:f", *SAMPLE, "-o", tmp_path / "out", "--quiet")
    both = [start(*command), start(*command)]
    for process in both:
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
    succeed("dump_gpfnapp", tmp_path / "out" / "model.app")
    whole = contents(tmp_path / "out")
    succeed("pfcomp", "compile", tmp_path / "prog.py:f", *SAMPLE, "-o", tmp_path / "alone", "--quiet")
    assert whole == contents(tmp_path / "alone")


def test_resumed_bytes_equal_one_shot_bytes(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(PROGRAM)
    source = ("pfcomp", "compile", tmp_path / "prog.py:f", *SAMPLE, "--quiet")
    succeed(*source, "-o", tmp_path / "whole")
    succeed(*source, "-o", tmp_path / "parts", "--to", "onnx")
    for stage in ("schedule", "simulate", "codegen"):
        succeed("pfcomp", stage, tmp_path / "parts")
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")
