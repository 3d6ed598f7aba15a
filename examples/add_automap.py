"""Adds four tensors that come in a tuple, a list, a NamedTuple and a dataclass."""

import argparse
import tempfile
from dataclasses import dataclass
from typing import NamedTuple

import torch

from mlsdk import Context, MNDevice, register_pytree_dataclass, register_pytree_namedtuple, storage


@register_pytree_namedtuple
class Named(NamedTuple):
    value: torch.Tensor


@register_pytree_dataclass
@dataclass
class Record:
    value: torch.Tensor


def add(first: tuple[torch.Tensor], second: list[torch.Tensor], *, third: Named, fourth: Record) -> torch.Tensor:
    return first[0] + second[0] + third.value + fourth.value


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    context = Context(MNDevice(arguments.device))
    ones = torch.ones(3, 4)
    args, kwargs = ((ones,), [ones]), {"third": Named(ones), "fourth": Record(ones)}
    folder = storage.path(tempfile.gettempdir())
    compiled_add = context.compile_automap(add, args, kwargs, folder / "add_automap", options={"float_dtype": "float"})
    result_on_cpu = compiled_add(*args, **kwargs).cpu()
    print(f"{result_on_cpu=}")
    assert torch.allclose(result_on_cpu, torch.full((3, 4), 4.0))


if __name__ == "__main__":
    main()
