"""Steps of large half-precision products, resident in local memory and from DRAM to DRAM: prints JSON.

`multiplying` is the share of steps that issue a matrix operation.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from resident import Resident, Tensors

from pfcomp.app import load_app
from pfcomp.ir.model import LM_WORDS
from pfcomp.stages.pipeline import compile_function

OPTIONS = {"option_json": "O1.json", "float_dtype": "half"}
SIZES = ((1024, 2048, 2048), (2048, 2048, 2048), (4096, 2048, 2048), (2048, 4096, 2048))
"""Rows, depth, columns."""
PES = 4096


def product(x: Tensors) -> Tensors:
    return {"out": x["a"] @ x["b"]}


def figures(steps: int, products: int) -> dict[str, Any]:
    return {"steps": steps, "multiplying": round(products / steps, 3)}


def from_dram(sample: Tensors) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        compile_function(product, sample, Path(folder), OPTIONS)
        found = dict(load_app(Path(folder) / "model.app").statistics)
    return figures(found["steps"], found["ops_mau-calc"])


def resident(sample: Tensors) -> dict[str, Any] | None:
    """None where operands and result exceed the local memories of all PEs."""
    (m, k), n = sample["a"].shape, sample["b"].shape[1]
    if m * k + k * n + m * n > 2 * 2 * LM_WORDS * PES:
        return None
    _, stats = Resident.of(product, sample, {"float_dtype": "half"}).best()
    return figures(stats.steps, stats.counts.units["mau-calc"])


def measure(m: int, k: int, n: int) -> dict[str, Any]:
    sample = {"a": torch.zeros(m, k), "b": torch.zeros(k, n)}
    return {"product": f"{m}x{k}x{n}", "resident": resident(sample), "from DRAM": from_dram(sample)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="products whose name, like 64x64x64, contains this")
    only = parser.parse_args().only
    print(json.dumps([measure(*size) for size in SIZES if only in "x".join(map(str, size))], indent=1))


if __name__ == "__main__":
    main()
