"""One linear layer with registered weights (mlsdk.md 6.1: infer)."""

import torch

from tests.frontend.zoo.program import Phase, Program, named


def build():
    layer = torch.nn.Linear(4, 4)
    states = named("layer", layer)

    def infer(i):
        return {"out": layer(i["x"])}

    samples = [{"x": torch.ones(4, 4)}, {"x": torch.randn(4, 4)}]
    return Program("infer", (Phase("infer", infer, samples),), 4, states)
