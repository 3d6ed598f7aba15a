"""Named tensors of a context: sharing, training in place, write-back, proxies, switching."""

import pytest
import torch

from mlsdk import (
    Context,
    MNCoreSGD,
    MNDevice,
    get_tensor_name,
    set_buffer_name_in_optimizer,
    set_tensor_name,
    set_tensor_name_in_module,
)
from pfcomp.errors import PfcompError

X = torch.ones(1, 10)


def make_model(prefix="model"):
    model = torch.nn.Linear(10, 1)
    for parameter in model.parameters():
        torch.nn.init.ones_(parameter)
    set_tensor_name_in_module(model, prefix)
    return model


class Training:
    """The training step of the SDK's train.py on one context."""

    def __init__(self, folder, prefix="model"):
        self.model = make_model(prefix)
        self.optimizer = MNCoreSGD(self.model.parameters(), 0.1, 0.9, 0.0)
        self.context = Context(MNDevice("pfvm:cpu"))
        set_buffer_name_in_optimizer(self.optimizer, "optimizer0")
        for parameter in self.model.parameters():
            self.context.register_param(parameter)
        self.context.register_optimizer_buffers(self.optimizer)
        self.step = self.context.compile(self.function, {"x": X}, folder, options={"float_dtype": "float"})

    def function(self, inputs):
        self.optimizer.zero_grad()
        loss = torch.relu(self.model(inputs["x"])).sum()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss}


def reference(steps):
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = torch.relu(model(X)).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return model, losses


def test_training_updates_the_device_and_synchronize_the_host(tmp_path):
    training, (expected, losses) = Training(tmp_path), reference(4)
    before = training.model.weight.detach().clone()
    got = [training.step({"x": X})["loss"].item() for _ in range(4)]
    assert got == pytest.approx(losses)
    assert got == pytest.approx([11, 9.9, 7.81, 4.829])  # mlsdk.md 6.1
    assert torch.equal(training.model.weight, before)
    training.context.synchronize()
    assert torch.allclose(training.model.weight, expected.weight, atol=1e-5)
    assert torch.allclose(training.model.bias, expected.bias, atol=1e-5)


def test_switching_contexts_loses_nothing(tmp_path):
    alone = Training(tmp_path / "alone", "alone")
    for _ in range(5):
        alone.step({"x": X})
    alone.context.synchronize()
    pair = [Training(tmp_path / name, name) for name in ("a", "b")]
    for _ in range(5):
        for training in pair:
            training.step({"x": X})
    for training in pair:
        training.context.synchronize()
        assert torch.equal(training.model.weight, alone.model.weight)


def test_functions_of_a_context_share_tensors(tmp_path):
    training = Training(tmp_path / "train")
    evaluate = training.context.compile(
        lambda i: {"y": training.model(i["x"])}, {"x": X}, tmp_path / "evaluate", options={"float_dtype": "float"}
    )
    before = evaluate({"x": X})["y"].cpu()
    training.step({"x": X})
    after = evaluate({"x": X})["y"].cpu()
    assert not torch.equal(before, after)
    training.context.synchronize()
    assert torch.allclose(after, training.model(X), atol=1e-5)


def test_registered_value_proxies(tmp_path):
    model, context = make_model(), Context(MNDevice("pfvm:cpu"))
    for parameter in model.parameters():
        context.register_param(parameter)
    proxy = context.get_registered_value_proxy(model.bias)
    assert torch.equal(proxy.cpu(), model.bias)
    proxy.load_from(torch.tensor([5.0]))
    infer = context.compile(lambda i: {"y": model(i["x"])}, {"x": X}, tmp_path, options={"float_dtype": "float"})
    first = infer({"x": X})["y"]
    proxy.load_from(torch.tensor([6.0]), clone=False)
    assert torch.allclose(infer({"x": X})["y"], first + 1)
    assert model.bias.item() != 6
    context.synchronize()
    assert model.bias.item() == 6


def test_unnamed_unregistered_and_clashing_tensors():
    context, tensor = Context(MNDevice("pfvm:cpu")), torch.ones(3)
    with pytest.raises(PfcompError, match=r"PF0611.*shape \(3,\)"):
        context.register_buffer(tensor)
    with pytest.raises(PfcompError, match="PF0612"):
        context.get_registered_value_proxy(tensor)
    set_tensor_name(tensor, "t")
    context.register_buffer(tensor)
    context.register_param(tensor)
    other = torch.ones(3)
    set_tensor_name(other, "t")
    with pytest.raises(PfcompError, match="PF0608"):
        context.register_buffer(other)


def test_element_types_that_nobody_can_hold():
    tensor = torch.ones(3, dtype=torch.complex64)
    set_tensor_name(tensor, "c")
    with pytest.raises(PfcompError, match=r"PF0622.*complex64"):
        Context(MNDevice("emu2")).register_buffer(tensor)


def test_registry_names_and_registers_at_once():
    model, context = torch.nn.BatchNorm1d(4), Context(MNDevice("pfvm:cpu"))
    context.registry.register("net", model)
    assert get_tensor_name(model.running_mean) == "net@running_mean"
    assert set(context.registry.entries) == {
        *("net@weight", "net@bias", "net@running_mean", "net@running_var", "net@num_batches_tracked"),
    }
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    context.registry.register("opt", optimizer)
    assert any(name.startswith("opt@") for name in context.registry.entries)


def test_synchronize_and_invalidate_without_any_run():
    context = Context(MNDevice("emu2"))
    context.synchronize()
    context.invalidate()
    context.invalidate()


def test_a_context_works_again_after_invalidate(tmp_path):
    training = Training(tmp_path)
    first = training.step({"x": X})["loss"].item()
    training.context.invalidate()
    assert training.step({"x": X})["loss"].item() < first
