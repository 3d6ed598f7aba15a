"""Speed of the host conversion between arrays and DRAM images; prints JSON.

Figures are GB/s of the host array (best of several runs, both directions) and microseconds per call for small values.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy as np

from pfcomp.layout import Layout, padding
from pfcomp.layout.image import from_image, to_image

CASES: dict[str, tuple[str, tuple[int, ...], str]] = {
    "small": ("((3:1), (1:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B])", (3, 4), "float32"),
    "contiguous": ("((8_L2B:1, 8_L1B:1, 16_MAB:1, 2:256), (256:1, 4_PE:1, 2_W:1))", (2048, 2048), "float32"),
    "words_outside": ("((8_L2B:1, 8_L1B:1, 16_MAB:1, 2:256), (256:1, 2_W:1, 4_PE:1))", (2048, 2048), "float32"),
    "double": ("((8_L2B:1, 8_L1B:1, 16_MAB:1, 2:512), (512:1, 4_PE:1))", (2048, 2048), "float64"),
    "half": ("((8_L2B:1, 8_L1B:1, 16_MAB:1, 2:128), (128:1, 4_PE:1, 4_W:1))", (2048, 2048), "float16"),
    "transposed": ("((256:1, 2_W:1, 4_PE:1), (8_L2B:1, 8_L1B:1, 16_MAB:1, 2:256))", (2048, 2048), "float32"),
    "padded": ("((8_L2B:1, 8_L1B:1, 16_MAB:1, 2:256), (256:1, 2_W:1, 4_PE:1))", (2047, 2041), "float32"),
    "copies": ("((8_L2B:1, 2:128, 16_MAB:1), (128:1, 4_PE:1, 2_W:1); B@[L1B])", (256, 1024), "float32"),
    "all_groups": ("((1024:128), (128:1, 4_PE:1, 2_W:1); B@[MAB,L1B,L2B])", (1024, 1024), "float32"),
}


def best_seconds(call: Callable[[], object], budget: float = 1.0) -> float:
    call()
    best, end = float("inf"), time.perf_counter() + budget
    while time.perf_counter() < end:
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def measure(text: str, shape: tuple[int, ...], dtype: str) -> dict[str, float | int | str]:
    layout = Layout.parse(text)
    array = (np.arange(int(np.prod(shape))) % 1000).reshape(shape).astype(dtype)
    image = to_image(array, layout)
    if not np.array_equal(from_image(image, layout, shape, dtype), array):
        raise SystemExit(f"{text}: what comes back differs")
    to_seconds = best_seconds(lambda: to_image(array, layout))
    from_seconds = best_seconds(lambda: from_image(image, layout, shape, dtype))
    return {
        "layout": text,
        "padding": sum(padding(layout, shape)),
        "array_bytes": array.nbytes,
        "image_bytes": image.nbytes,
        "to_image_gbps": round(array.nbytes / to_seconds / 1e9, 3),
        "from_image_gbps": round(array.nbytes / from_seconds / 1e9, 3),
        "to_image_us": round(to_seconds * 1e6, 1),
        "from_image_us": round(from_seconds * 1e6, 1),
    }


if __name__ == "__main__":
    print(json.dumps({name: measure(*case) for name, case in CASES.items()}, indent=2))
