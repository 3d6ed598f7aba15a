"""Prints how the zoo's programs do on the emulated chip: nodes, steps, errors against PFVM. From the root folder:

python tools/zoo_device.py [PROGRAM ...] [--float-dtype float|mixed] [--layout-planner NAME]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import torch

from pfcomp.errors import PfcompError
from tests.frontend.zoo import BUILDERS
from tests.programs.zoo import DeviceResult, on_device, tolerance

HEAD = """\
| program | ONNX nodes | steps | max relative error | tolerance | seconds |
|---|---|---|---|---|---|"""


def row(result: DeviceResult, limit: float) -> str:
    return (
        f"| {result.name} | {result.nodes} | {result.steps} | {result.error:.1e} | {limit:.1e} | {result.seconds:.1f} |"
    )


def main(arguments: list[str]) -> int:
    """Runs the named programs, all without names; 1 if one is refused or over its tolerance."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(BUILDERS))
    parser.add_argument("--float-dtype", choices=("float", "mixed"), default="float")
    parser.add_argument("--layout-planner", help="as in `pfcomp options`; canonical is the quickest")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.programs if name not in BUILDERS]
    if unknown:
        parser.error(f"no such program: {', '.join(unknown)}")
    chosen: dict[str, object] = {"float_dtype": options.float_dtype}
    if options.layout_planner:
        chosen["layout_planner"] = options.layout_planner
    print(HEAD)
    failed = False
    for name in options.programs or BUILDERS:
        torch.manual_seed(0)
        program = BUILDERS[name]()
        limit = tolerance(program, options.float_dtype)
        try:
            with tempfile.TemporaryDirectory() as folder:
                result = on_device(program, Path(folder), chosen)
        except PfcompError as error:
            failed = True
            print(f"| {name} | {error} |", flush=True)
            continue
        failed |= result.error > limit
        print(row(result, limit), flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
