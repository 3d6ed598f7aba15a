"""Element types that the device holds in wider ones: PyTorch functions in half precision and in small integers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from onnx import TensorProto

from mlsdk import Context, MNCoreSGD, MNDevice, set_buffer_name_in_optimizer, set_tensor_name_in_module, storage
from pfcomp.errors import UnsupportedError
from pfcomp.ir.element_types import ELEMENT_TYPES
from pfcomp.stages.pipeline import compile_function
from pfcomp.verify.run import verify
from tests.programs.general import Node, agree

Tensors = Mapping[str, torch.Tensor]
HALVES = {torch.float16: "FLOAT16", torch.bfloat16: "BFLOAT16"}
SMALL = (torch.int8, torch.uint8, torch.int16)
OPTIONS = {"float_dtype": "float"}


@pytest.fixture
def context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Context:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Context(MNDevice("emu2"))
    Context.switch_context(made)
    return made


def run(context: Context, function: object, sample: Tensors, folder: Path, options: dict[str, object] | None = None):
    compiled = context.compile(function, sample, storage.path(str(folder)), options=options or OPTIONS)
    return {name: value.cpu() for name, value in compiled(sample).items()}


def whole_range(dtype: torch.dtype, seed: int) -> torch.Tensor:
    limits = torch.iinfo(dtype)
    values = np.random.default_rng(seed).integers(limits.min, limits.max + 1, (6, 40))
    values[0, :4] = limits.min, limits.max, 0, 1
    return torch.from_numpy(values).to(dtype)


def integers(x: Tensors) -> dict[str, torch.Tensor]:
    a, b = x["a"], x["b"]
    return {
        "add": a + b,
        "sub": a - b,
        "mul": a * b,
        "chain": (a + b) * a - b,
        "neg": -a,
        "not": ~a,
        "and": a & b,
        "xor": a ^ b,
        "max": torch.maximum(a, b),
        "row": a.amax(1),
        "sum": a.sum(1),
        "less": a < b,
        "chosen": torch.where(a < b, a, b),
        "float": a.float() / 255,
        "from_int": x["wide"].to(a.dtype),
        "halved": torch.div(a, 2, rounding_mode="trunc"),
        "moved": a.T.reshape(-1)[3:50],
    }


@pytest.mark.parametrize("dtype", SMALL, ids=str)
def test_small_integers_wrap_around_as_on_the_host(context, tmp_path, dtype):
    wide = torch.from_numpy(np.random.default_rng(3).integers(-(1 << 31), 1 << 31, (5, 7)).astype(np.int32))
    sample = {"a": whole_range(dtype, 1), "b": whole_range(dtype, 2), "wide": wide}
    found = run(context, integers, sample, tmp_path / "out")
    for name, expected in integers(sample).items():
        assert found[name].dtype == expected.dtype, name
        assert torch.equal(found[name], expected), name


def halves(x: Tensors) -> dict[str, torch.Tensor]:
    a, b = x["a"], x["b"]
    return {
        "sum": a * 2 + b,
        "product": a @ b.T,
        "softmax": torch.softmax(a, -1),
        "norm": torch.nn.functional.layer_norm(a, (32,)),
        "mean": b.mean(0),
        "wider": a.float() + b,
        "rounded": (a.float() * 3).to(a.dtype),
    }


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("float_dtype", ["float", "double"])
def test_half_precision_is_held_in_a_wider_type(context, tmp_path, dtype, float_dtype):
    """No step rounds to the short type, so results are as near to exact ones as one rounding in the end allows."""
    generator = torch.Generator().manual_seed(0)
    sample = {name: torch.randn(16, 32, generator=generator).to(dtype) for name in "ab"}
    found = run(context, halves, sample, tmp_path / "out", {"float_dtype": float_dtype})
    exact = halves({name: tensor.double() for name, tensor in sample.items()})
    own = halves(sample)
    for name, expected in exact.items():
        assert found[name].dtype == own[name].dtype, name
        error = (found[name].double() - expected).abs().max() / expected.abs().max()
        assert error <= (1.01 * ELEMENT_TYPES[HALVES[dtype]].roundoff if name != "wider" else 1e-6), name


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_every_node_in_half_precision_is_within_its_bound(tmp_path, dtype):
    generator = torch.Generator().manual_seed(1)
    sample = {name: torch.randn(16, 32, generator=generator).to(dtype) for name in "ab"}
    compile_function(halves, sample, tmp_path, OPTIONS)
    rows = verify(tmp_path, {name: tensor.float().numpy() for name, tensor in sample.items()})
    assert rows
    assert all(row.held for row in rows)


def test_a_layer_in_bfloat16_is_trained(context, tmp_path):
    """Weights, gradients and the optimizer in bfloat16; between calls the device keeps more digits than the host."""
    layer = torch.nn.Linear(8, 4, dtype=torch.bfloat16)
    set_tensor_name_in_module(layer, "layer")
    for parameter in layer.parameters():
        context.register_param(parameter)
    optimizer = MNCoreSGD(layer.parameters(), 0.1)
    set_buffer_name_in_optimizer(optimizer, "optimizer")
    context.register_optimizer_buffers(optimizer)

    def step(x: Tensors) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(layer(x["x"]), x["y"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    generator = torch.Generator().manual_seed(0)
    shapes = {"x": (16, 8), "y": (16, 4)}
    sample = {name: torch.randn(shape, generator=generator).to(torch.bfloat16) for name, shape in shapes.items()}
    compiled = context.compile(step, sample, storage.path(str(tmp_path / "out")), options=OPTIONS)
    losses = [float(compiled(sample)["loss"].cpu()) for _ in range(20)]
    assert losses[-1] < 0.9 * losses[0]
    context.synchronize()
    assert layer.weight.dtype == torch.bfloat16
    final = torch.nn.functional.mse_loss(layer.float()(sample["x"].float()), sample["y"].float())
    assert float(final.detach()) < 0.9 * losses[0]


def test_products_of_whole_numbers(context, tmp_path):
    generator = np.random.default_rng(0)
    draw = lambda kind, *shape: torch.from_numpy(generator.integers(-(1 << 20), 1 << 20, shape).astype(kind))  # noqa: E731
    sample = {
        "a": draw(np.int32, 3, 5, 7),
        "b": draw(np.int32, 7, 4),
        "v": draw(np.int64, 7),
        "w": draw(np.int64, 7, 2),
    }
    function = lambda x: {"matrix": x["a"] @ x["b"], "vector": x["v"] @ x["w"], "number": x["v"] @ x["v"]}  # noqa: E731
    found = run(context, function, sample, tmp_path / "out")
    for name, expected in function(sample).items():
        assert torch.equal(found[name], expected), name


def test_types_without_a_holder_are_refused(tmp_path):
    x = np.arange(4, dtype=np.uint16)
    with pytest.raises(UnsupportedError) as caught:
        agree(tmp_path, [Node("Identity", ["x"], ["y"])], {"x": x}, {"y": TensorProto.UINT16})
    assert caught.value.code == "PF0401"
    assert "element type UINT16; the device has FLOAT, DOUBLE, INT32" in caught.value.what
