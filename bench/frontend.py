"""Processor seconds of capture, export and passes: prints JSON.

Each program runs in a fresh process, counted after `import torch`, first use of everything included. The graphs of
1000, 4000 and 16000 operations show whether the cost of a node grows with the graph.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

Build = Callable[[], tuple[Callable[[dict[str, Any]], dict[str, Any]], dict[str, Any]]]


def mnist() -> Any:
    """A training step of a perceptron with one hidden layer, batch 64, SGD with momentum."""
    import torch

    from pfcomp.frontend.names import set_buffer_name_in_optimizer, set_tensor_name_in_module
    from pfcomp.frontend.optim import MNCoreSGD

    model = torch.nn.Sequential(torch.nn.Linear(784, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9)
    set_tensor_name_in_module(model, "model")
    set_buffer_name_in_optimizer(optimizer, "optimizer")

    def step(inputs: dict[str, Any]) -> dict[str, Any]:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs["x"]), inputs["t"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return step, {"x": torch.ones(64, 784), "t": torch.zeros(64, dtype=torch.int64)}


def resnet50() -> Any:
    """Inference on one picture of 224 x 224."""
    import torch
    from torch import nn

    from pfcomp.frontend.names import set_tensor_name_in_module

    def convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> list[nn.Module]:
        layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
        return [layer, nn.BatchNorm2d(outputs)]

    class Bottleneck(nn.Module):  # type: ignore[misc]
        def __init__(self, inputs: int, width: int, stride: int) -> None:
            super().__init__()
            parts = [*convolution(inputs, width, 1), nn.ReLU(), *convolution(width, width, 3, stride), nn.ReLU()]
            self.main = nn.Sequential(*parts, *convolution(width, 4 * width, 1))
            same = inputs == 4 * width and stride == 1
            self.side = nn.Identity() if same else nn.Sequential(*convolution(inputs, 4 * width, 1, stride))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.main(x) + self.side(x))

    layers: list[nn.Module] = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, count in enumerate((3, 4, 6, 3)):
        for number in range(count):
            layers.append(Bottleneck(channels, 64 << stage, 2 if stage and not number else 1))
            channels = 256 << stage
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000)).eval()
    set_tensor_name_in_module(model, "model")

    def classify(inputs: dict[str, Any]) -> dict[str, Any]:
        with torch.no_grad():
            return {"scores": model(inputs["x"])}

    return classify, {"x": torch.ones(1, 3, 224, 224)}


def chain(operations: int) -> Any:
    """A long graph: ten operations at a time, among them views, a state that is written, and what passes remove."""
    import torch

    from pfcomp.frontend.names import set_tensor_name

    weights = [torch.full((8, 8), 0.1 + number / operations) for number in range(operations // 10)]
    for number, weight in enumerate(weights):
        set_tensor_name(weight, f"weight{number}")

    def function(inputs: dict[str, Any]) -> dict[str, Any]:
        x = inputs["x"]
        for weight in weights:
            y = torch.relu(x @ weight.t() * 1.0 + 0.5)
            x = torch.tanh(y.reshape(64).reshape(8, 8) - y.neg().neg() * torch.ones(8))
            weight.mul_(0.5)
        return {"y": x}

    return function, {"x": torch.ones(8, 8)}


PROGRAMS: dict[str, Build] = {
    "mnist train": mnist,
    "resnet-50 inference": resnet50,
    **{f"{count} operations": partial(chain, count) for count in (1000, 4000, 16000)},
}


def measure(name: str) -> dict[str, Any]:
    """Figures of one program, in this process."""
    import torch

    torch.set_num_threads(1)
    start = time.process_time()
    function, sample = PROGRAMS[name]()
    built = time.process_time()
    from pfcomp.frontend import capture, export
    from pfcomp.passes.runner import optimise

    captured = capture(function, sample)
    traced = time.process_time()
    model = export(captured)
    written = time.process_time()
    optimise(model)
    done = time.process_time()
    figures = {"capture": traced - built, "export": written - traced, "passes": done - written}
    seconds = {key: round(value, 2) for key, value in figures.items()}
    total = done - start
    per_operation = round(1e3 * total / len(captured.nodes), 3)
    sizes = {"operations": len(captured.nodes), "nodes": len(model.graph)}
    return {"program": name, **sizes, **seconds, "total": round(total, 2), "ms per operation": per_operation}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs="*", default=list(PROGRAMS), help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--here", action="store_true", help="measure in this process")
    arguments = parser.parse_args()
    rows = []
    for name in arguments.programs:
        if arguments.here:
            rows.append(measure(name))
        else:
            command = [sys.executable, __file__, "--here", name]
            rows += json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
