"""Compiles random graphs, runs them on the emulator and compares with onnxruntime. From the root folder:

python tools/fuzz_programs.py [--seeds FIRST LAST] [--layouts SHARE] [--elements LEAST MOST] [--keep FOLDER]

Prints one line for every graph that fails: its seed and operators, and what happened. `--layouts` is the share of the
graphs that get random layouts forced on some of their tensors (`layout_spec`), `--elements` bounds the size of the
first tensor from below and of all tensors from above. `--keep` leaves the folders of the graphs that fail, for
`pfcomp verify`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from pfcomp.errors import PfcompError
from tests.programs.random_graphs import compare, random_graph
from tests.programs.random_layouts import random_entries
from tests.programs.random_values import MOST_ELEMENTS, Graph


def attempt(graph: Graph, entries: Sequence[Mapping[str, object]], folder: Path) -> tuple[str, str]:
    """What came of one graph with these forced layouts, and a line about it."""
    try:
        compare(graph, folder, entries)
    except AssertionError as error:
        return "wrong", " ".join(str(error).split())[:300]
    except PfcompError as error:
        return ("refused", str(error)) if error.code in ("PF0421", "PF0422") else ("failed", str(error))
    except Exception as error:  # anything else is a fault of the compiler, which the line reports
        return "failed", f"{type(error).__name__}: {error}"
    return "agrees", ""


def main(arguments: list[str]) -> int:
    """1 if a graph is computed wrong or not at all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100), metavar=("FIRST", "LAST"))
    parser.add_argument("--keep", type=Path, help="folder for the graphs that fail")
    parser.add_argument("--layouts", type=float, default=0.5, metavar="SHARE")
    parser.add_argument("--elements", type=int, nargs=2, default=(0, MOST_ELEMENTS), metavar=("LEAST", "MOST"))
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for seed in range(*options.seeds):
        graph, choices = random_graph(seed, *options.elements), np.random.default_rng(seed)
        entries = random_entries(graph, choices) if choices.random() < options.layouts else []
        with tempfile.TemporaryDirectory() as scratch:
            kept = options.keep and options.keep / str(seed)
            folder = kept or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            outcome, line = attempt(graph, entries, folder)
            counts[f"{outcome} with forced layouts" if entries else outcome] += 1
            if outcome == "agrees" and kept:
                for file in kept.iterdir():
                    file.unlink()
                kept.rmdir()
        if outcome != "agrees":
            ops = " ".join(node.op for node in graph.nodes)
            print(f"seed {seed} {outcome}: {line} [{ops}] {json.dumps(entries)}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return int(any(outcome.startswith(("wrong", "failed")) for outcome in counts))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
