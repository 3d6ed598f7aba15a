"""Ten steps of a linear layer with relu and sum (mlsdk.md 6.1: train)."""

import torch

from pfcomp.frontend.optim import MNCoreSGD
from tests.frontend.zoo.program import Phase, Program, named


def build():
    model = torch.nn.Linear(10, 1)
    torch.nn.init.ones_(model.weight)
    torch.nn.init.ones_(model.bias)
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    states = named("model", model, optimizer)

    def step(i):
        optimizer.zero_grad()
        loss = torch.relu(model(i["x"])).sum()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return Program("train", (Phase("step", step, [{"x": torch.ones(1, 10)}] * 10),), 10, states)
