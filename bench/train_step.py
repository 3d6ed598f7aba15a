"""Steps of a whole training step of a two-layer perceptron, transfers from and to DRAM included: prints JSON.

Softmax cross-entropy, gradients and descent are written out, so that the figures do not depend on how an optimizer is
captured. Compiled with the preset O1 and pseudo-single products.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import torch
from resident import Tensors

from pfcomp.app import load_app
from pfcomp.stages.pipeline import compile_function

OPTIONS = {"option_json": "O1.json", "float_dtype": "float", "allow_g": True}
FEATURES, CLASSES, RATE = 1024, 16, 0.1
SIZES = ((256, 16), (16, 256))
"""Batch and hidden units; others published 2,890 steps for the first pair."""
SHOWN = ("steps", "bound", "moving", "computing", "both", "nops", "moves")


def sample(batch: int, hidden: int) -> Tensors:
    shapes = {"x": (batch, FEATURES), "w1": (hidden, FEATURES), "b1": (hidden,), "w2": (CLASSES, hidden)}
    tensors = {name: torch.zeros(shape) for name, shape in {**shapes, "b2": (CLASSES,)}.items()}
    return {**tensors, "labels": torch.zeros(batch, dtype=torch.int32)}


def step(t: Tensors, batch: int) -> Tensors:
    before = t["x"] @ t["w1"].T + t["b1"]
    hidden = torch.relu(before)
    logits = hidden @ t["w2"].T + t["b2"]
    centred = logits - logits.amax(1, keepdim=True)
    powers = torch.exp(centred)
    total = powers.sum(1, keepdim=True)
    hot = (t["labels"][:, None] == torch.arange(CLASSES, dtype=torch.int32)).float()
    loss = -(hot * (centred - torch.log(total))).sum() / batch
    d_logits = (powers / total - hot) / batch
    d_before = torch.where(before > 0, d_logits @ t["w2"], 0.0)
    gradients = {
        "w1": d_before.T @ t["x"], "b1": d_before.sum(0), "w2": d_logits.T @ hidden, "b2": d_logits.sum(0)
    }  # fmt: skip
    return {"loss": loss, **{f"new_{name}": t[name] - RATE * gradient for name, gradient in gradients.items()}}


def measure(batch: int, hidden: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        compile_function(partial(step, batch=batch), sample(batch, hidden), Path(folder), OPTIONS)
        figures = dict(load_app(Path(folder) / "model.app").statistics)
    return {"batch": batch, "layers": [FEATURES, hidden, CLASSES], **{name: figures[name] for name in SHOWN}}


def main() -> None:
    argparse.ArgumentParser(description=__doc__).parse_args()
    print(json.dumps([measure(*size) for size in SIZES], indent=1))


if __name__ == "__main__":
    main()
