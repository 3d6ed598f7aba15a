"""Prints the table of the zoo's programs: nodes, steps, errors against eager torch, tolerance. From the root folder:

python tools/zoo.py [PROGRAM ...]
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from tests.frontend.zoo import BUILDERS
from tests.frontend.zoo.program import Result, compare

_HEAD = """\
| program | ONNX nodes | steps | max error onnxruntime | max error pfvm:cpu | tolerance |
|---|---|---|---|---|---|"""


def _row(result: Result) -> str:
    errors = f"{result.onnxruntime:.1e} | {result.pfvm:.1e} | {result.tolerance:.1e}"
    return f"| {result.name} | {result.nodes} | {result.steps} | {errors} |"


def main(names: list[str]) -> int:
    """Runs the named programs, all without names; 1 if one is over its tolerance."""
    unknown = [name for name in names if name not in BUILDERS]
    if unknown:
        print(f"no such program: {', '.join(unknown)}; there are {', '.join(BUILDERS)}", file=sys.stderr)
        return 2
    print(_HEAD)
    failed = False
    for name in names or BUILDERS:
        torch.manual_seed(0)
        result = compare(BUILDERS[name]())
        print(_row(result), flush=True)
        failed |= result.worst > result.tolerance
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
