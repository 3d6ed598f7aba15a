"""Runs what `add.py` has compiled, without its function: only the codegen_dir is needed."""

import argparse
import tempfile

import torch

from mlsdk import Context, MNDevice, storage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    context = Context(MNDevice(arguments.device))
    Context.switch_context(context)
    compiled_add = context.load_codegen_dir(storage.path(tempfile.gettempdir()) / "add_two_tensors")
    result_on_cpu = compiled_add({"x": torch.ones(3, 4), "y": torch.ones(3, 4)})["out"].cpu()
    print(f"{result_on_cpu=}")
    assert torch.allclose(result_on_cpu, torch.full((3, 4), 2.0))


if __name__ == "__main__":
    main()
