"""A producer and a consumer of the same tensor (mlsdk.md 6.1: io_spec_constraints)."""

import torch

from tests.frontend.zoo.program import Phase, Program


def build():
    def produce(i):
        return {"double": i["x"] * 2}

    def consume(i):
        return {"out": i["middle"] + 1}

    x = torch.randn(32, 64)
    phases = (
        Phase("produce", produce, [{"x": x}]),
        Phase("consume", consume, [{"middle": x}], wired={"middle": "double"}),
    )
    return Program("io_spec_constraints", phases, 1)
