"""Adam written with the in-place operators that torch.optim.Adam uses, its step counter a tensor on the device.

The rate is a tensor outside the function, read as a number when the function is compiled.
"""

import torch
from torch import nn

from tests.frontend.zoo.program import Phase, Program, named

BETA1, BETA2, EPS = 0.9, 0.99, 1e-4


class Fit(nn.Module):
    """A polynomial's coefficients with the moments of their gradient."""

    def __init__(self, degree):
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(degree) * 0.1)
        self.register_buffer("first", torch.zeros(degree))
        self.register_buffer("second", torch.zeros(degree))
        self.register_buffer("step", torch.zeros(()))
        self.powers = degree + 1

    def forward(self, x):
        weight = x.new_ones(len(x)) / len(x)
        terms = x[:, None] ** torch.arange(1, self.powers)
        return terms @ self.coefficients, weight

    @torch.no_grad()
    def update(self, rate):
        gradient = self.coefficients.grad
        self.step.add_(1)
        self.first.lerp_(gradient, 1 - BETA1)
        self.second.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        corrected = self.first / (1 - BETA1**self.step)
        self.coefficients.addcdiv_(corrected, (self.second / (1 - BETA2**self.step)).sqrt() + EPS, value=-rate)


def build():
    model = Fit(4)
    states = named("fit", model)
    rate = torch.tensor(0.05)

    def train(i):
        model.coefficients.grad = None
        y, weight = model(i["x"])
        loss = ((y - i["y"]).square() * weight).sum()
        loss.backward()
        model.update(rate.item())
        return {"loss": loss}

    x = torch.linspace(-1, 1, 16)
    return Program("torch_adam", (Phase("train", train, [{"x": x, "y": torch.sin(2 * x)}] * 6),), 16, states)
