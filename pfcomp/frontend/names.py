"""Names of tensors: `model@linear1/weight` identifies a tensor across the functions of a context (mlsdk.md 1.7)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from pfcomp.errors import SourceError

FX2ONNX_EXPORTER_TENSOR_NAME_ATTR = "_fx2onnx_exporter_tensor_name"
"""Attribute of a tensor object that holds its name."""

_NAMED = WeakIdKeyDictionary()


def named_tensors() -> list[Tensor]:
    """The named tensors that are alive."""
    return list(_NAMED)


def set_tensor_name(tensor: Tensor, name: str) -> None:
    """Name a tensor, or give it another name. SourceError if the name is empty or not a string."""
    if not isinstance(name, str):
        raise SourceError("PF0303", f"a tensor name must be a string, not {type(name).__name__}")
    if not name:
        raise SourceError("PF0301", "a tensor name is empty")
    setattr(tensor, FX2ONNX_EXPORTER_TENSOR_NAME_ATTR, name)
    _NAMED[tensor] = True


def get_tensor_name(tensor: Tensor) -> str | None:
    """Name that was given to a tensor object, or None."""
    name = getattr(tensor, FX2ONNX_EXPORTER_TENSOR_NAME_ATTR, None)
    return name if isinstance(name, str) else None


def set_tensor_name_in_module(module: torch.nn.Module, prefix: str) -> None:
    """Name every parameter and buffer `<prefix>@<submodule path>/<tensor>`; named ones keep their name.

    A tensor that two submodules share keeps the name of the first.
    """
    tensors = [*module.named_parameters(), *module.named_buffers()]
    for path, tensor in tensors:
        if get_tensor_name(tensor) is None:
            set_tensor_name(tensor, f"{prefix}@{path.replace('.', '/')}")


def set_buffer_name_in_optimizer(optimizer: torch.optim.Optimizer, prefix: str) -> None:
    """Name the optimizer's state tensors.

    State of a parameter becomes `<prefix>@<parameter's name>/<key>`, that of an unnamed parameter
    `<prefix>@<group>@<position>/<key>`; tensors in a parameter group (a rate on the device) `<prefix>@<group>@<key>`.
    """
    for number, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            _name_state(value, f"{prefix}@{number}@{key}")
        for position, parameter in enumerate(group["params"]):
            owner = get_tensor_name(parameter) or f"{number}@{position}"
            for key, value in optimizer.state.get(parameter, {}).items():
                _name_state(value, f"{prefix}@{owner}/{key}")


def _name_state(value: Any, name: str) -> None:
    if isinstance(value, Tensor) and get_tensor_name(value) is None:
        set_tensor_name(value, name)
