"""Architectures of timm with random weights: eager torch against onnxruntime and pfvm:cpu. From the root folder:

python tools/timm_zoo.py [--mode infer|train] [--jobs 2] [--json FILE] [ARCHITECTURE ...]

timm imports torchvision, whose own operators are not needed here; a pair without CUDA is made by
`pip install --no-deps timm torchvision==0.28.0 pillow safetensors huggingface_hub pyyaml`, and `timm_cases` declares
the two operators that torchvision's Python part asks for.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from tools.timm_models import SIZES, TRAINED

if TYPE_CHECKING:
    from tools.timm_cases import Outcome

TASKS_PER_PROCESS = 8  # memory of large models is given back
_HEAD = """\
| architecture | mode | ONNX nodes | capture s | export s | passes s | onnxruntime | pfvm:cpu | tolerance | judged by |
|---|---|---|---|---|---|---|---|---|---|"""


def _arguments(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Compare architectures of timm with eager torch.")
    parser.add_argument("names", nargs="*", metavar="ARCHITECTURE", help="default: all of the mode")
    parser.add_argument("--mode", choices=("infer", "train"), default="infer")
    parser.add_argument("--steps", type=int, default=12, help="training steps")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", type=Path, help="also write the results to this file, one object per line")
    return parser.parse_args(argv)


def _run(task: tuple[str, str, int]) -> Outcome:
    """One architecture (name, mode, steps) in a process of the pool."""
    from tools import timm_cases

    name, mode, steps = task
    return timm_cases.train(name, SIZES[name], steps) if mode == "train" else timm_cases.infer(name, SIZES[name])


def _row(outcome: Outcome) -> str:
    if outcome.reason:
        return f"| {outcome.name} | {outcome.mode} | failed: {outcome.reason} |"
    times = " | ".join(f"{second:.1f}" for second in outcome.seconds)
    errors = f"{outcome.onnxruntime:.1e} | {outcome.pfvm:.1e} | {outcome.tolerance:.1e}"
    return f"| {outcome.name} | {outcome.mode} | {outcome.nodes} | {times} | {errors} | {outcome.judge} |"


def _outcomes(names: Iterable[str], arguments: argparse.Namespace) -> Iterable[Outcome]:
    """In the order in which they are done."""
    tasks = [(name, arguments.mode, arguments.steps) for name in names]
    with multiprocessing.get_context("spawn").Pool(arguments.jobs, maxtasksperchild=TASKS_PER_PROCESS) as pool:
        yield from pool.imap_unordered(_run, tasks)


def main(argv: list[str]) -> int:
    """Prints a row for each architecture as it is done; 1 if one failed, 2 for an unknown name."""
    arguments = _arguments(argv)
    unknown = [name for name in arguments.names if name not in SIZES]
    if unknown:
        print(f"no such architecture here: {', '.join(unknown)}", file=sys.stderr)
        return 2
    os.environ["OMP_NUM_THREADS"] = "1"
    names = arguments.names or (TRAINED if arguments.mode == "train" else tuple(SIZES))
    print(_HEAD)
    passed = 0
    for outcome in _outcomes(names, arguments):
        passed += not outcome.reason
        print(_row(outcome), flush=True)
        if arguments.json is not None:
            with arguments.json.open("a") as file:
                file.write(json.dumps(asdict(outcome)) + "\n")
    print(f"\n{passed} of {len(names)} passed")
    return int(passed != len(names))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
