"""Programs that users write, trained and run on the emulated chip; `tools/zoo_device.py` prints their figures."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.frontend.zoo import BUILDERS
from tests.programs.zoo import on_device, tolerance

QUICK = (
    *("add", "infer", "infer_multi", "io_spec_constraints", "explicit_transfer", "train"),
    *("torch_adam", "vae_encode", "detection_head"),
)
SLOW = pytest.mark.slow


@pytest.mark.parametrize("name", [n if n in QUICK else pytest.param(n, marks=SLOW) for n in BUILDERS])
def test_every_output_and_state_agrees(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    program = BUILDERS[name]()
    assert on_device(program, tmp_path).error <= tolerance(program, "float")


def test_mixed_precision(tmp_path: Path) -> None:
    torch.manual_seed(0)
    program = BUILDERS["train"]()
    result = on_device(program, tmp_path, {"float_dtype": "mixed"})
    assert 0 < result.error <= tolerance(program, "mixed")
