"""Two contexts that take turns a hundred times end exactly where each ends alone."""

import pytest
import torch

from mlsdk import Context, MNCoreSGD, MNDevice, set_buffer_name_in_optimizer, set_tensor_name, set_tensor_name_in_module

SWITCHES = 100
OPTIONS = {"float_dtype": "float"}


class Elementwise:
    """w and an unregistered running mean m under x, step by step."""

    sample = torch.empty(8, 8)

    def __init__(self, device, folder, seed, switches):
        generator = torch.Generator().manual_seed(seed)
        self.weight, self.mean = (torch.randn(8, 8, generator=generator) for _ in range(2))
        set_tensor_name(self.weight, "weight")
        set_tensor_name(self.mean, "mean")
        self.inputs = [torch.randn(8, 8, generator=generator) for _ in range(switches // 2)]
        self.context = Context(MNDevice(device))
        self.context.register_param(self.weight)
        self.step = self.context.compile(self.function, {"x": self.sample}, folder, options=OPTIONS)

    def function(self, inputs):
        self.mean.mul_(0.9).add_(inputs["x"] * 0.1)
        self.weight.add_((self.mean - self.weight) * 0.05)
        return {"loss": self.weight * self.mean}

    def results(self):
        self.context.synchronize()
        return [self.weight.clone()]


class Linear:
    """A linear model with momentum."""

    def __init__(self, device, folder, seed, switches):
        torch.manual_seed(seed)
        self.model = torch.nn.Linear(16, 4)
        self.inputs = list(torch.randn(switches // 2, 8, 16))
        self.optimizer = MNCoreSGD(self.model.parameters(), 0.05, 0.9, 0.0)
        self.context = Context(MNDevice(device))
        set_tensor_name_in_module(self.model, "model")
        set_buffer_name_in_optimizer(self.optimizer, "optimizer0")
        for parameter in self.model.parameters():
            self.context.register_param(parameter)
        self.context.register_optimizer_buffers(self.optimizer)
        self.step = self.context.compile(self.function, {"x": self.inputs[0]}, folder, options=OPTIONS)

    def function(self, inputs):
        self.optimizer.zero_grad()
        loss = self.model(inputs["x"]).square().mean()
        loss.backward()
        self.optimizer.step()
        return {"loss": loss}

    def results(self):
        self.context.synchronize()
        buffers = [state["momentum_buffer"] for state in self.optimizer.state.values()]
        return [tensor.detach().clone() for tensor in (*self.model.parameters(), *buffers)]


def bits(tensors):
    return [tensor.numpy().tobytes() for tensor in tensors]


@pytest.mark.parametrize(
    ("training", "device", "switches"),
    [
        (Elementwise, "emu2", SWITCHES),
        (Elementwise, "pfvm:cpu", SWITCHES),
        (Linear, "pfvm:cpu", SWITCHES),
        (Linear, "emu2", 10),
        pytest.param(Linear, "emu2", SWITCHES, marks=pytest.mark.slow),
    ],
)
def test_switches_lose_nothing(training, device, switches, tmp_path, monkeypatch):
    alone = []
    for seed in (1, 2):
        one = training(device, tmp_path / f"alone{seed}", seed, switches)
        losses = [one.step({"x": x})["loss"].cpu() for x in one.inputs]
        alone.append((bits(losses), bits(one.results())))

    switched = []
    leave = type(one.context.registry).leave_device
    monkeypatch.setattr(type(one.context.registry), "leave_device", lambda self: (switched.append(self), leave(self)))
    pair = [training(device, tmp_path / f"pair{seed}", seed, switches) for seed in (1, 2)]
    losses = [[], []]
    for turn in range(switches):
        one = pair[turn % 2]
        losses[turn % 2].append(one.step({"x": one.inputs[turn // 2]})["loss"])
    together = [(bits([loss.cpu() for loss in losses[i]]), bits(pair[i].results())) for i in range(2)]
    assert together == alone
    assert len(switched) >= switches
