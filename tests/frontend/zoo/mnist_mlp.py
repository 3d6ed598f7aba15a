"""A multilayer perceptron: training steps, then evaluation with the trained weights (mlsdk.md 6.1: mnist)."""

import torch
from torch import nn
from torch.nn import functional as F

from pfcomp.frontend.optim import MNCoreSGD
from tests.frontend.zoo.program import Phase, Program, named


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(256, 64)
        self.linear2 = nn.Linear(64, 10)

    def forward(self, picture):
        return self.linear2(F.relu(self.linear1(picture.view(-1, 256))))


def build():
    model = Perceptron()
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    states = named("model", model, optimizer)

    def train(i):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(i["x"]), i["t"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    def evaluate(i):
        with torch.no_grad():
            scores = model(i["x"])
            _, predicted = torch.max(scores, 1)
            return {"loss": F.cross_entropy(scores, i["t"]), "correct": (predicted == i["t"]).sum()}

    def batch(size):
        return {"x": torch.randn(size, 1, 16, 16), "t": torch.randint(10, (size,))}

    phases = (
        Phase("train", train, [batch(16) for _ in range(5)]),
        Phase("eval", evaluate, [batch(25) for _ in range(2)]),
    )
    return Program("mnist_mlp", phases, 256, states)
