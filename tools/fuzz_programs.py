"""Compiles random graphs, runs them on the emulator and compares with onnxruntime. From the root folder:

python tools/fuzz_programs.py [--seeds FIRST LAST] [--layouts SHARE] [--elements LEAST MOST] [--jobs N]
    [--keep FOLDER] [--verbose]

Prints one line for every graph that fails (`--verbose`: for every graph): its seed, what happened, the time it took and
its operators. `--layouts` is the share of the graphs that get random layouts forced on some of their tensors
(`layout_spec`), `--elements` bounds the size of the first tensor from below and of all tensors from above. `--jobs` is
the number of processes. `--keep` leaves the folders of the graphs that fail, for `pfcomp verify`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from pfcomp.errors import PfcompError
from tests.programs.random_graphs import compare, random_graph
from tests.programs.random_layouts import random_entries
from tests.programs.random_values import MOST_ELEMENTS, Graph

GRAPHS_OF_A_PROCESS = 8
"""Graphs that a process computes before another takes its place, so that memory does not grow."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to do for every seed."""

    layouts: float
    elements: tuple[int, int]
    keep: Path | None


def attempt(graph: Graph, entries: Sequence[Mapping[str, object]], folder: Path) -> tuple[str, str]:
    """What came of one graph with these forced layouts, and a line about it."""
    try:
        compare(graph, folder, entries)
    except PfcompError as error:
        return ("refused", str(error)) if error.code in ("PF0421", "PF0422") else ("failed", str(error))
    except AssertionError as error:
        if "Mismatch" in str(error):
            return "wrong", " ".join(str(error).split())[:300]
        return "failed", _where(error)
    except Exception as error:  # anything else is a fault of the compiler, which the line reports
        return "failed", _where(error)
    return "agrees", ""


def _where(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(last.filename).name}:{last.lineno} {last.line}: {error}"


def judge(request: Request, seed: int) -> tuple[str, str]:
    """What came of the graph of a seed, and the line to print about it."""
    graph, choices = random_graph(seed, *request.elements), np.random.default_rng(seed)
    entries = random_entries(graph, choices) if choices.random() < request.layouts else []
    begun = perf_counter()
    with tempfile.TemporaryDirectory() as scratch:
        kept = request.keep and request.keep / str(seed)
        folder = kept or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        outcome, line = attempt(graph, entries, folder)
        if outcome == "agrees" and kept:
            shutil.rmtree(kept)
    ops = " ".join(node.op for node in graph.nodes)
    about = f"{line} {json.dumps(entries)}" if outcome != "agrees" else ""
    return (
        f"{outcome} with forced layouts" if entries else outcome,
        f"seed {seed} {outcome} after {perf_counter() - begun:.0f} s [{ops}] {about}".rstrip(),
    )


def main(arguments: list[str]) -> int:
    """1 if a graph is computed wrong or not at all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100), metavar=("FIRST", "LAST"))
    parser.add_argument("--keep", type=Path, help="folder for the graphs that fail")
    parser.add_argument("--layouts", type=float, default=0.5, metavar="SHARE")
    parser.add_argument("--elements", type=int, nargs=2, default=(0, MOST_ELEMENTS), metavar=("LEAST", "MOST"))
    parser.add_argument("--jobs", type=int, default=1, metavar="N")
    parser.add_argument("--verbose", action="store_true", help="a line for every graph")
    options = parser.parse_args(arguments)
    request = Request(options.layouts, tuple(options.elements), options.keep)
    counts: Counter[str] = Counter()
    with Pool(options.jobs, maxtasksperchild=GRAPHS_OF_A_PROCESS) as pool:
        for outcome, line in pool.imap(partial(judge, request), range(*options.seeds)):
            counts[outcome] += 1
            if options.verbose or not outcome.startswith("agrees"):
                print(line, flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return int(any(outcome.startswith(("wrong", "failed")) for outcome in counts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
