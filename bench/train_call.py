"""Milliseconds of one training call on the emulated chip, host included, by number of threads: prints JSON.

    python bench/train_call.py [--calls 60] [--threads 1,2] [--float-dtype mixed,float]

The function is that of examples/mnist.py (batch 64, layers 1024, 256, 10; momentum), compiled with the preset O1; a
call gets host tensors and reads the loss. `processor` is the time of all threads together. Random data take as long as
digits.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from typing import Any

import torch

from mlsdk import Context, MNCoreSGD, MNDevice, set_buffer_name_in_optimizer, set_tensor_name_in_module
from pfcomp.emulator.c import native
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.engine import engine_of

DEVICE, BATCH, LAYERS, WARM_UP = "emu2", 64, (1024, 256, 10), 5
Tensors = dict[str, torch.Tensor]


def compiled(float_dtype: str, folder: str, preset: str = "O1.json") -> Any:
    """The training step as a function of the device."""
    torch.manual_seed(0)
    features, hidden, classes = LAYERS
    model = torch.nn.Sequential(torch.nn.Linear(features, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes))
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    context = Context(MNDevice(DEVICE))
    Context.switch_context(context)
    set_tensor_name_in_module(model, "model")
    set_buffer_name_in_optimizer(optimizer, "optimizer0")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)

    def step(inputs: Tensors) -> Tensors:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs["x"]), inputs["t"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    sample = {"x": torch.empty(BATCH, features), "t": torch.zeros(BATCH, dtype=torch.int64)}
    return context.compile(step, sample, folder, options={"option_json": preset, "float_dtype": float_dtype})


def measure(step: Any, threads: int, calls: int) -> dict[str, float]:
    """Median and best elapsed milliseconds of a call, and the median of its processor time."""
    engine_of(parse_device(DEVICE)).machine.threads = threads
    inputs = {"x": torch.rand(BATCH, LAYERS[0]), "t": torch.randint(0, LAYERS[-1], (BATCH,))}
    elapsed, processor = [], []
    for _ in range(WARM_UP + calls):
        began, used = time.perf_counter(), time.process_time()
        step(inputs)["loss"].item()
        elapsed.append(time.perf_counter() - began)
        processor.append(time.process_time() - used)
    timed = {
        "median": statistics.median(elapsed[WARM_UP:]),
        "best": min(elapsed[WARM_UP:]),
        "processor": statistics.median(processor[WARM_UP:]),
    }
    return {name: round(1e3 * seconds, 1) for name, seconds in timed.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=60)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--float-dtype", default="mixed,float")
    options = parser.parse_args()
    torch.set_num_threads(1)
    document: dict[str, Any] = {"engine": native.describe(), "unit": "ms per call"}
    for float_dtype in options.float_dtype.split(","):
        with tempfile.TemporaryDirectory() as folder:
            step = compiled(float_dtype, folder)
            for threads in map(int, options.threads.split(",")):
                document[f"{float_dtype}, {threads} thread"] = measure(step, threads, options.calls)
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
