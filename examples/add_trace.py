"""Adds two tensors inside a `trace_scope`, which leaves a timeline for Perfetto (https://ui.perfetto.dev)."""

import argparse
import tempfile

import torch

from mlsdk import CacheOptions, Context, MNDevice, storage, trace_event, trace_scope


def add(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"out": inputs["x"] + inputs["y"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    folder = storage.path(tempfile.gettempdir())
    context = Context(MNDevice(arguments.device))
    sample = {"x": torch.ones(3, 4), "y": torch.ones(3, 4)}
    compiled_add = context.compile(
        add,
        sample,
        folder / "add_two_tensors",
        options={"float_dtype": "float"},
        cache_options=CacheOptions(str(folder / "add_two_tensors_cache")),
    )
    with trace_scope(str(folder / "add_trace.pb")):
        with trace_event("add twice"):
            first = compiled_add(sample)
            second = compiled_add({"x": first["out"], "y": torch.zeros(3, 4)})
        result_on_cpu = second["out"].cpu()
    print(f"{result_on_cpu=}")
    assert torch.allclose(result_on_cpu, torch.full((3, 4), 2.0))


if __name__ == "__main__":
    main()
