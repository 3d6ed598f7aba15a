"""Checks of a function's interface: the sample's and the result's keys, values and dtypes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from pfcomp.errors import SourceError

DTYPES = frozenset(
    {
        *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.bool),
        *(torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8),
    }
)
"""Element types of inputs, outputs and states."""


def check_sample(sample: Any) -> None:
    """SourceError unless the sample maps non-empty string keys to dense tensors of a supported dtype."""
    if not isinstance(sample, Mapping):
        raise SourceError("PF0304", f"the sample is a {type(sample).__name__}, not a mapping of str to Tensor")
    for key, value in sample.items():
        _check_item(key, value, "input", "")


def check_result(result: Any, where: str) -> None:
    """SourceError unless a function's result maps non-empty string keys to tensors of a supported dtype."""
    if not isinstance(result, Mapping):
        what = f"the function returned a {type(result).__name__}, not a mapping of str to Tensor"
        raise SourceError("PF0305", what, where=where)
    for key, value in result.items():
        _check_item(key, value, "output", where)


def check_names(inputs: Iterable[str], outputs: Collection[str], states: Iterable[str]) -> None:
    """SourceError if inputs, outputs and states do not all have different names."""
    owners: dict[str, str] = {}
    for kind, names in (("input", inputs), ("output", outputs), ("state", states)):
        for name in names:
            if name in owners:
                raise SourceError("PF0302", f"'{name}' names an {owners[name]} and an {kind}", hint="rename one")
            owners[name] = kind


def _check_item(key: Any, value: Any, kind: str, where: str) -> None:
    if not isinstance(key, str):
        raise SourceError("PF0303", f"the {kind} key {key!r} is a {type(key).__name__}, not a string", where=where)
    if not key:
        raise SourceError("PF0301", f"an {kind} has an empty key", where=where)
    if not isinstance(value, Tensor):
        raise SourceError("PF0306", f"{kind} '{key}' is a {type(value).__name__}, not a Tensor", where=where)
    if value.dtype not in DTYPES or value.layout != torch.strided:
        what = f"{kind} '{key}' has dtype {value.dtype} ({value.layout}), which is not supported"
        raise SourceError("PF0307", what, where=where)
