"""Adds two 3x4 tensors on the device: the smallest program there is."""

import argparse
import tempfile

import torch

from mlsdk import CacheOptions, Context, MNDevice, storage


def add(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"out": inputs["x"] + inputs["y"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    context = Context(MNDevice(arguments.device))
    Context.switch_context(context)
    sample = {"x": torch.ones(3, 4), "y": torch.ones(3, 4)}
    folder = storage.path(tempfile.gettempdir())
    compiled_add = context.compile(
        add,
        sample,
        folder / "add_two_tensors",
        options={"float_dtype": "float"},
        cache_options=CacheOptions(str(folder / "add_two_tensors_cache")),
    )
    result_on_cpu = compiled_add(sample)["out"].cpu()
    print(f"{result_on_cpu=}")
    assert torch.allclose(result_on_cpu, torch.full((3, 4), 2.0))


if __name__ == "__main__":
    main()
