"""x + y (mlsdk.md 6.1: add, load_codegen_dir, add_trace)."""

import torch

from tests.frontend.zoo.program import Phase, Program


def build():
    def add(i):
        return {"out": i["x"] + i["y"]}

    samples = [{"x": torch.randn(3, 4), "y": torch.ones(3, 4)} for _ in range(3)]
    return Program("add", (Phase("add", add, samples),), 1)
