"""Two layers without bias in one context, the result of one handed to the other (mlsdk.md 6.1: infer_multi)."""

import torch

from tests.frontend.zoo.program import Phase, Program, named


def build():
    layers = [torch.nn.Linear(4, 4, bias=False) for _ in range(2)]
    for number, layer in enumerate(layers):
        torch.nn.init.constant_(layer.weight, number + 1.0)
    states = named("first", layers[0]) | named("second", layers[1])

    def through(layer):
        def infer(i):
            with torch.no_grad():
                return {"y": layer(i["x"])}

        return infer

    first, second = map(through, layers)
    phases = (
        Phase("first", first, [{"x": torch.ones(1, 4)}]),
        Phase("second", second, [{"x": torch.ones(1, 4)}]),
        Phase("second on first", second, [{"x": torch.ones(1, 4)}], wired={"x": "y"}),
    )
    return Program("infer_multi", phases, 4, states)
