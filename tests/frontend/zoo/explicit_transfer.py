"""A linear layer whose weights change between calls, as `load_from` does (mlsdk.md 6.1: explicit_data_transfer_api)."""

import torch

from tests.frontend.zoo.program import Phase, Program, named


def build():
    layer = torch.nn.Linear(4, 4)
    states = named("layer", layer)

    def infer(i):
        return {"y": layer(i["x"])}

    def load(i):
        with torch.no_grad():
            layer.weight.copy_(i["weight"])
            layer.bias.copy_(i["bias"])
        return {"norm": layer.weight.square().sum()}

    sample = {"x": torch.ones(4, 4)}
    weights = {"weight": torch.randn(4, 4), "bias": torch.randn(4)}
    phases = (Phase("infer", infer, [sample]), Phase("load", load, [weights]), Phase("again", infer, [sample]))
    return Program("explicit_transfer", phases, 16, states)
