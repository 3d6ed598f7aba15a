"""Compiles random graphs, runs them on the emulator and compares with onnxruntime. From the root folder:

python tools/fuzz_programs.py [--seeds FIRST LAST] [--keep FOLDER]

Prints one line for every graph that fails: its seed and operators, and what happened. `--keep` leaves the folders of
those graphs, for `pfcomp verify`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pfcomp.errors import PfcompError
from tests.programs.random_graphs import compare, random_graph


def attempt(seed: int, folder: Path) -> tuple[str, str]:
    """What came of one seed, and a line about it."""
    graph = random_graph(seed)
    try:
        compare(graph, folder)
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
    options = parser.parse_args(arguments)
    counts: Counter[str] = Counter()
    for seed in range(*options.seeds):
        with tempfile.TemporaryDirectory() as scratch:
            kept = options.keep and options.keep / str(seed)
            folder = kept or Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            outcome, line = attempt(seed, folder)
            counts[outcome] += 1
            if outcome == "agrees" and kept:
                for file in kept.iterdir():
                    file.unlink()
                kept.rmdir()
        if outcome != "agrees":
            ops = " ".join(node.op for node in random_graph(seed).nodes)
            print(f"seed {seed} {outcome}: {line} [{ops}]", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items())))
    return int(bool(counts["wrong"] or counts["failed"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
