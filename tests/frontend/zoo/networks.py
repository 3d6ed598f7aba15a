"""The models of model_cases.py as programs: residual network, diffusion network, language model, detection head."""

import torch
from torch.nn import functional as F

from pfcomp.frontend.optim import MNCoreSGD
from tests.frontend.model_cases import Decoder, ResNet, UNet, detection
from tests.frontend.zoo.program import Phase, Program, named


def _trained(name, reduction, model, loss_of, samples, *hyper):
    """A program of training steps with stochastic gradient descent."""
    optimizer = MNCoreSGD(model.parameters(), *hyper)
    states = named("model", model, optimizer)

    def step(i):
        optimizer.zero_grad()
        loss = loss_of(model, i)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Program(name, (Phase("step", step, samples),), reduction, states)


def resnet():
    def loss_of(model, i):
        return F.cross_entropy(model(i["x"]), i["y"])

    samples = [{"x": torch.randn(4, 3, 16, 16), "y": torch.tensor([0, 1, 2, 3])} for _ in range(3)]
    return _trained("resnet_bn_train", 1024, ResNet(), loss_of, samples, 0.02, 0.9, 0.0)


def unet():
    def loss_of(model, i):
        return F.mse_loss(model(i["x"], i["t"]), i["noise"])

    samples = [
        {"x": torch.randn(2, 2, 8, 8), "t": torch.tensor([1.0, 3.0]), "noise": torch.randn(2, 2, 8, 8)}
        for _ in range(3)
    ]
    return _trained("unet_gn_train", 256, UNet(), loss_of, samples, 0.05)


def llama():
    model = Decoder()
    states = named("model", model)

    def run(i):
        with torch.no_grad():
            return {"logits": model(i["ids"], i["positions"])}

    prefill = [{"ids": torch.tensor([[1, 4, 2]]), "positions": torch.arange(3)}]
    decode = [{"ids": torch.tensor([[t]]), "positions": torch.tensor([n])} for n, t in enumerate((7, 3, 9), start=3)]
    phases = (Phase("prefill", run, prefill), Phase("decode", run, decode))
    return Program("llama_kv_cache", phases, 12, states)


def detector():
    samples = [{"scores": torch.randn(2, 7, 4) * 2, "boxes": torch.rand(2, 7, 4)} for _ in range(3)]
    head = Phase("head", lambda i: detection(i["scores"], i["boxes"]), samples)
    return Program("detection_head", (head,), 8)
