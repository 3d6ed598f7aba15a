"""Steps and compile seconds of the training step of examples/mnist.py by preset: prints JSON.

    python bench/presets.py [--presets O0,O1,O2,O3] [--float-dtype mixed,float]

The function is that of bench/train_call.py. Every compilation is a process of its own that starts in an empty folder.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from pfcomp.app import load_app

SHOWN = ("steps", "moving", "computing", "both", "nops")


def measure(preset: str, float_dtype: str) -> dict[str, object]:
    code = f"import train_call, sys; train_call.compiled({float_dtype!r}, sys.argv[1], {f'{preset}.json'!r})"
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
        begun = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, folder], env=environment, check=True)
        seconds = time.perf_counter() - begun
        figures = dict(load_app(next(Path(folder).rglob("model.app"))).statistics)
    shown = {name: figures[name] for name in SHOWN}
    return {"preset": preset, "float_dtype": float_dtype, "seconds": round(seconds, 1), **shown}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", default="O0,O1,O2,O3")
    parser.add_argument("--float-dtype", default="mixed,float")
    options = parser.parse_args()
    pairs = ((preset, kind) for preset in options.presets.split(",") for kind in options.float_dtype.split(","))
    print(json.dumps([measure(*pair) for pair in pairs], indent=1))


if __name__ == "__main__":
    main()
