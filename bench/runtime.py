"""Costs of the runtime beyond the emulated steps, as JSON: microseconds per call, layout conversion in GB/s."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from mlsdk import Context, MNDevice, TensorLike
from pfcomp.emulator.machine import Executable, RunResult
from pfcomp.layout import Layout
from pfcomp.layout.image import from_image, to_image
from pfcomp.runtime.devices import parse_device
from pfcomp.runtime.engine import engine_of

WARM_UP, CALLS = 20, 400
LAYOUTS = {
    "contiguous": ((2048, 2048), "((8_L2B:1, 256:2), (8_L1B:1, 16_MAB:1, 2:1, 4_PE:1, 2_W:1))"),
    "transposed": ((2048, 2048), "((8_L1B:1, 16_MAB:1, 2:1, 4_PE:1, 2_W:1), (8_L2B:1, 256:2))"),
}


def median_us(action: Callable[[], object], times: int) -> float:
    samples = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e6


def call_costs(device: str) -> dict[str, float]:
    """Medians over calls of the compiled add with host tensors and with resident ones.

    `overhead` is what a call takes beyond the emulator's run inside it.
    """
    sample = {"x": torch.ones(3, 4), "y": torch.ones(3, 4)}
    with tempfile.TemporaryDirectory() as folder:
        context = Context(MNDevice(device))
        add = context.compile(lambda i: {"out": i["x"] + i["y"]}, sample, folder, options={"float_dtype": "float"})
        proxies = add.allocate_input_proxy()
        for proxy in proxies.values():
            proxy.load_from(torch.ones(3, 4))
        whole, overhead = measured(device, partial(add, sample))
        resident, resident_overhead = measured(device, partial(add, proxies))
    return {
        "call_us": whole,
        "call_overhead_us": overhead,
        "resident_call_us": resident,
        "resident_call_overhead_us": resident_overhead,
    }


def measured(device: str, call: Callable[[], dict[str, TensorLike]]) -> tuple[float, float]:
    """Median microseconds of a call that fetches its output, and of the same without the emulator's own run."""
    machine = engine_of(parse_device(device)).machine
    run, emulated = machine.run, [0.0]

    def timed(executable: Executable) -> RunResult:
        start = time.perf_counter()
        result = run(executable)
        emulated[0] += time.perf_counter() - start
        return result

    wholes, overheads = [], []
    machine.run = timed  # type: ignore[method-assign]
    for _ in range(WARM_UP + CALLS):
        emulated[0] = 0.0
        start = time.perf_counter()
        call()["out"].cpu()
        seconds = time.perf_counter() - start
        wholes.append(seconds * 1e6)
        overheads.append((seconds - emulated[0]) * 1e6)
    machine.run = run  # type: ignore[method-assign]
    return statistics.median(wholes[WARM_UP:]), statistics.median(overheads[WARM_UP:])


def conversion(shape: tuple[int, int], layout: Layout) -> dict[str, float]:
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    image = to_image(array, layout)
    up = median_us(lambda: to_image(array, layout), 10)
    down = median_us(lambda: from_image(image, layout, shape, array.dtype), 10)
    return {"to_device_gb_s": array.nbytes / up / 1e3, "to_host_gb_s": array.nbytes / down / 1e3}


def main() -> None:
    figures: dict[str, object] = {device: call_costs(device) for device in ("emu2", "mncore2:0")}
    for name, (shape, text) in LAYOUTS.items():
        figures[name] = conversion(shape, Layout.parse(text))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
