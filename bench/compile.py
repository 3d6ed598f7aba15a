"""Compile time and packed steps of element-wise programs: prints JSON.

Each program goes through the stages schedule, simulate and codegen in one warm process; seconds are the median of the
runs, steps and bounds are exact.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from pfcomp.app import load_app
from pfcomp.stages.pipeline import compile_function

Tensors = dict[str, torch.Tensor]


def add(inputs: Tensors) -> Tensors:
    return {"out": inputs["x"] + inputs["y"]}


def chain(inputs: Tensors) -> Tensors:
    value = inputs["x"]
    for k in range(12):
        value = torch.relu(value * inputs["y"] - float(k))
    return {"out": value}


PROGRAMS: dict[str, tuple[Callable[[Tensors], Tensors], tuple[int, ...], tuple[int, ...]]] = {
    "add 3x4": (add, (3, 4), (3, 4)),
    "add 1024x1024": (add, (1024, 1024), (1024, 1024)),
    "add 2048x2048": (add, (2048, 2048), (2048, 2048)),
    "chain of 36 on 512x512": (chain, (512, 512), (512,)),
    "outer sum 2048x2048": (add, (2048, 1), (1, 2048)),
}


def measure(name: str, repeat: int) -> dict[str, Any]:
    function, left, right = PROGRAMS[name]
    sample = {"x": torch.ones(left), "y": torch.ones(right)}
    seconds = []
    for _ in range(repeat):
        with tempfile.TemporaryDirectory() as folder:
            start = time.perf_counter()
            compile_function(function, sample, Path(folder), {"float_dtype": "float"})
            seconds.append(time.perf_counter() - start)
            figures = dict(load_app(Path(folder) / "model.app").statistics)
    shown = ("steps", "bound", "nops", "moving", "computing", "both", "moves")
    return {"program": name, "seconds": round(statistics.median(seconds), 3), **{k: figures[k] for k in shown}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    print(json.dumps([measure(name, arguments.repeat) for name in PROGRAMS], indent=1))


if __name__ == "__main__":
    main()
