"""Costs of the runtime beyond the emulated steps, as JSON: microseconds per call, layout conversion in GB/s."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable

import numpy as np
import torch

from mlsdk import Context, MNDevice
from pfcomp.layout import Layout
from pfcomp.layout.image import from_image, to_image

CALLS = 200
LAYOUTS = {
    "contiguous": ((2048, 2048), "((8_L2B:1, 256:2), (8_L1B:1, 16_MAB:1, 2:1, 4_PE:1, 2_W:1))"),
    "transposed": ((2048, 2048), "((8_L1B:1, 16_MAB:1, 2:1, 4_PE:1, 2_W:1), (8_L2B:1, 256:2))"),
}


def median_us(action: Callable[[], object], times: int = CALLS) -> float:
    samples = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        samples.append(time.perf_counter() - start)
    return statistics.median(samples) * 1e6


def call_costs(device: str) -> dict[str, float]:
    sample = {"x": torch.ones(3, 4), "y": torch.ones(3, 4)}
    with tempfile.TemporaryDirectory() as folder:
        context = Context(MNDevice(device))
        add = context.compile(lambda i: {"out": i["x"] + i["y"]}, sample, folder, options={"float_dtype": "float"})
        proxies = add.allocate_input_proxy()
        for proxy in proxies.values():
            proxy.load_from(torch.ones(3, 4))

        def call() -> object:
            return add(sample)["out"].cpu()

        def call_resident() -> object:
            return add(proxies)["out"].cpu()

        call(), call_resident()
        return {"call_us": median_us(call), "call_resident_us": median_us(call_resident)}


def emulated_us(device: str) -> float:
    """The part of a call that the emulator itself takes."""
    from pfcomp.runtime.devices import parse_device
    from pfcomp.runtime.engine import engine_of

    engine = engine_of(parse_device(device))
    seconds: list[float] = []
    run = engine.machine.run

    def timed(executable: object) -> object:
        start = time.perf_counter()
        result = run(executable)
        seconds.append(time.perf_counter() - start)
        return result

    engine.machine.run = timed
    call_costs(device)
    engine.machine.run = run
    return statistics.median(seconds) * 1e6


def conversion(shape: tuple[int, int], layout: Layout) -> dict[str, float]:
    array = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    image = to_image(array, layout)
    up = median_us(lambda: to_image(array, layout), 10)
    down = median_us(lambda: from_image(image, layout, shape, array.dtype), 10)
    return {"to_device_gb_s": array.nbytes / up / 1e3, "to_host_gb_s": array.nbytes / down / 1e3}


def main() -> None:
    figures: dict[str, object] = {device: call_costs(device) for device in ("emu2", "mncore2:0")}
    figures["emulated_us"] = emulated_us("emu2")
    for name, (shape, text) in LAYOUTS.items():
        figures[name] = conversion(shape, Layout.parse(text))
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
