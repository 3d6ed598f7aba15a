"""The first program: compile, dump, run, compare; what a newcomer does in the first five minutes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.acceptance.commands import ROOT, one_line_error, run, succeed

DUMP = """\
target_name: GPFN3
inputs:
  x: DRAM@0-16/Float(3,4 PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])} alias_base=null \
torch_dtype=Float layout_kind=MNCore)
  y: DRAM@16-32/Float(3,4 PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])} alias_base=null \
torch_dtype=Float layout_kind=MNCore)
outputs:
  out: DRAM@32-48/Float(3,4 PadLayout{(3,4)/((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])} Dirty alias_base=null \
torch_dtype=Float layout_kind=MNCore)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("add") / "out"
    succeed("pfcomp", "compile", ROOT / "examples/add.py", "--option_json", "O1.json", "-o", out)
    return out


def test_the_dump_begins_with_the_public_lines(compiled: Path) -> None:
    assert succeed("dump_gpfnapp", compiled / "model.app").startswith(DUMP)


def test_every_documented_file_is_there(compiled: Path) -> None:
    documented = {
        *("trace.txt", "model.onnx.zst", "l3ir.txt", "l3ir_stripped.onnx", "layout.json", "schedule.json.zst"),
        *("simulation_result.json.zst", "report.json", "trace.json", "model.vsm.zst", "model.app", "manifest.json"),
    }
    assert documented <= {p.name for p in compiled.iterdir()}


def test_pfrun_compares_with_a_reference(compiled: Path, tmp_path: Path) -> None:
    right, wrong = tmp_path / "right.npy", tmp_path / "wrong.npy"
    np.save(right, np.full((3, 4), 2, np.float32))
    np.save(wrong, np.full((3, 4), 2.5, np.float32))
    inputs = ("--input", "x=ones", "--input", "y=ones")
    succeed("pfrun", compiled, *inputs, "--expect", f"out={right}")
    failed = run("pfrun", compiled, *inputs, "--expect", f"out={wrong}")
    assert failed.returncode == 1
    assert "out" in failed.stdout + failed.stderr
    assert "2.5" in failed.stdout + failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.parametrize("device", ["mncore2:auto", "emu2", "pfvm:cpu"])
def test_the_program_prints_twos(device: str) -> None:
    printed = succeed(ROOT / "examples/add.py", "--device", device)
    assert printed.startswith("result_on_cpu=tensor([[2., 2., 2., 2.],")


@pytest.mark.parametrize("device", ["mncore2:auto", "emu2", "pfvm:cpu"])
def test_a_result_is_handed_over_without_conversion(device: str) -> None:
    printed = succeed(ROOT / "examples/io_spec_constraints.py", "--device", device)
    assert "producer -> consumer direct-use succeeded" in printed


def test_a_truncated_app_is_one_line(compiled: Path, tmp_path: Path) -> None:
    broken = tmp_path / "model.app"
    broken.write_bytes((compiled / "model.app").read_bytes()[:-7])
    one_line_error(run("pfrun", broken, "--input", "x=ones", "--input", "y=ones"), 5, "model.app")
    one_line_error(run("dump_gpfnapp", broken), 5, "model.app")
