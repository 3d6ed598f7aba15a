"""Models of the kinds that users bring: training steps and inference against eager torch."""

import copy

import torch
from torch.nn import functional as F

from pfcomp.frontend import capture, export
from pfcomp.frontend.names import set_buffer_name_in_optimizer, set_tensor_name_in_module
from pfcomp.frontend.optim import MNCoreAdamW, MNCoreSGD
from pfcomp.frontend.tolerance import relative_error, tolerance
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.passes.core_ops import classify
from pfcomp.passes.runner import optimise
from pfcomp.pfvm import PFVM
from tests.frontend.model_cases import Decoder, ResNet, UNet, detection


def executor(function, sample, states=None):
    model = export(capture(function, sample, states=states, repeat=False))
    optimise(model)
    assert classify(model).unknown == ()
    return PFVM(model)


def feeds(sample):
    return {name: to_numpy(value) for name, value in sample.items()}


def trained(model, optimizer, function, sample, steps=5):
    """Both ways step by step: losses, then all states of the model."""
    vm = executor(function, sample)
    for _ in range(steps):
        loss = vm.run(feeds(sample))["loss"]
        assert relative_error(loss, function(sample)["loss"].detach()) < tolerance("float32", 4096)
    for name, tensor in model.state_dict().items():
        got = vm.state[f"m@{name.replace('.', '/')}"]
        assert relative_error(got, to_numpy(tensor)) < 10 * tolerance("float32", 4096), name


def test_residual_network_training():
    torch.manual_seed(1)
    model = ResNet()
    set_tensor_name_in_module(model, "m")
    optimizer = MNCoreSGD(model.parameters(), 0.05, 0.9, 0.0)
    set_buffer_name_in_optimizer(optimizer, "opt")

    def step(i):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(i["x"]), i["y"], label_smoothing=0.1)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=False)
        optimizer.step()
        return {"loss": loss}

    trained(model, optimizer, step, {"x": torch.randn(4, 3, 16, 16), "y": torch.tensor([0, 1, 2, 3])})


def test_diffusion_network_training():
    torch.manual_seed(2)
    model = UNet()
    set_tensor_name_in_module(model, "m")
    optimizer = MNCoreSGD(model.parameters(), 0.05)

    def step(i):
        model.zero_grad()
        with torch.enable_grad():
            loss = F.mse_loss(model(i["x"], i["t"]), i["noise"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    sample = {"x": torch.randn(2, 2, 8, 8), "t": torch.tensor([1.0, 3.0]), "noise": torch.randn(2, 2, 8, 8)}
    trained(model, optimizer, step, sample)


def test_language_model_prefill_decode_and_fine_tuning():
    torch.manual_seed(3)
    model = Decoder()
    set_tensor_name_in_module(model, "m")
    names = {"keys": "m@keys", "values": "m@values"}
    eager = copy.deepcopy(model)

    def run(i):
        with torch.no_grad():
            return {"logits": model(i["ids"], i["positions"])}

    prefill = {"ids": torch.tensor([[1, 4, 2]]), "positions": torch.arange(3)}
    decode = {"ids": torch.tensor([[7]]), "positions": torch.tensor([3])}
    first, second = executor(run, prefill), executor(run, decode)
    with torch.no_grad():
        assert relative_error(first.run(feeds(prefill))["logits"], eager(**prefill)) < tolerance("float32", 64)
        for name in names.values():
            second.state[name] = first.state[name]
        for position, token in enumerate((7, 3, 9), start=3):
            step = {"ids": torch.tensor([[token]]), "positions": torch.tensor([position])}
            assert relative_error(second.run(feeds(step))["logits"], eager(**step)) < tolerance("float32", 64)
    assert relative_error(second.state["m@keys"], eager.keys) < tolerance("float32", 64)

    optimizer = MNCoreAdamW(model.parameters(), 1e-2)

    def tune(i):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(i["ids"], i["positions"]), i["next"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    set_buffer_name_in_optimizer(optimizer, "opt")
    vm = executor(tune, prefill | {"next": torch.tensor([5])})
    losses = [float(vm.run(feeds(prefill | {"next": torch.tensor([5])}))["loss"]) for _ in range(5)]
    assert losses[-1] < losses[0] * 0.8
    assert not model.keys.requires_grad


def test_detection_head():
    torch.manual_seed(4)
    sample = {"scores": torch.randn(2, 7, 4) * 2, "boxes": torch.rand(2, 7, 4)}
    expected = detection(**sample)
    got = executor(lambda i: detection(i["scores"], i["boxes"]), sample).run(feeds(sample))
    for name, value in expected.items():
        assert relative_error(got[name], to_numpy(value)) <= tolerance(str(value.dtype).removeprefix("torch."), 8), name


def test_bytes_scaled_inside_the_function():
    sample = {"image": torch.arange(48, dtype=torch.uint8).reshape(1, 3, 4, 4)}
    mean = torch.tensor([0.4, 0.5, 0.6]).reshape(1, 3, 1, 1)

    def function(i):
        x = (i["image"].float() / 255.0 - mean) / 0.25
        return {"x": x.contiguous(memory_format=torch.channels_last)[:, :, 1:, :], "flag": i["image"] > 30}

    got = executor(function, sample).run(feeds(sample))
    for name, value in function(sample).items():
        assert relative_error(got[name], to_numpy(value)) < 1e-6


def test_autocast_and_checkpointing():
    weight = torch.nn.Linear(6, 6)
    set_tensor_name_in_module(weight, "w")

    def step(i):
        with torch.autocast("cpu", torch.bfloat16):
            y = torch.utils.checkpoint.checkpoint(lambda x: torch.tanh(weight(x)), i["x"], use_reentrant=False)
        loss = y.float().pow(2).sum()
        loss.backward()
        return {"loss": loss, "g": weight.weight.grad}

    sample = {"x": torch.randn(3, 6)}
    got = executor(step, sample).run(feeds(sample))
    for name, value in step(sample).items():
        assert relative_error(got[name], to_numpy(value)) < tolerance("bfloat16", 6) / 16, name
