"""Registered tensors stay on the device between calls and functions, and come back when synchronised."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.arange(4.0))
        self.register_buffer("total", torch.zeros(3, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return x * self.weight + self.total


@pytest.mark.parametrize("device", ["emu2", "pfvm:cpu"])
def test_a_buffer_is_updated_on_the_device(tmp_path: Path, device: str) -> None:
    model, expected = Counter(), Counter()
    set_tensor_name_in_module(model, "counter")
    context = Context(MNDevice(device))
    context.register_param(model.weight)
    context.register_buffer(model.total)
    x = torch.full((3, 4), 1.5)
    step = context.compile(lambda inputs: {"y": model(inputs["x"])}, {"x": x}, tmp_path / "step")
    peek = context.compile(lambda inputs: {"z": model.total - inputs["x"]}, {"x": x}, tmp_path / "peek")
    for _ in range(3):
        assert torch.equal(step({"x": x})["y"].cpu(), expected(x).detach())
    assert torch.equal(peek({"x": x})["z"].cpu(), expected.total - x)
    assert torch.equal(model.total, torch.zeros(3, 4))
    context.synchronize()
    assert torch.equal(model.total, expected.total)
    context.invalidate()
