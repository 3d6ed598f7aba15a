"""Writing elements where ONNX's scatter does not say the same as PyTorch."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


@decomposes(aten.scatter_reduce.two)
def _scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """A mean is a sum and a count; without `include_self` elements that are written to start with the neutral one.

    NotImplemented keeps the operator, which has a lowering.
    """
    if reduce == "mean":
        return _scatter_mean(x, dim, index, source, include_self)
    if include_self:
        return NotImplemented
    start = torch.where(_hits(x, dim, index) > 0, _neutral(x.dtype, reduce), x)
    return start.scatter_reduce(dim, index, source, reduce)


def _hits(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """How many elements are written to each place."""
    zeros, ones = torch.zeros_like(x, dtype=torch.int32), torch.ones_like(index, dtype=torch.int32)
    return zeros.scatter_add(dim, index, ones)


def _scatter_mean(x: Tensor, dim: int, index: Tensor, source: Tensor, include_self: bool) -> Tensor:
    hits = _hits(x, dim, index)
    if include_self:
        total, count = x.scatter_add(dim, index, source), hits + 1
    else:
        total, count = torch.where(hits > 0, 0, x).scatter_add(dim, index, source), hits.clamp(min=1)
    if x.is_floating_point():
        return total / count.to(x.dtype)
    return torch.div(total, count.to(x.dtype), rounding_mode="floor")


def _neutral(dtype: torch.dtype, reduce: str) -> Any:
    if reduce in ("sum", "prod"):
        return {"sum": 0, "prod": 1}[reduce]
    if dtype.is_floating_point:
        return -math.inf if reduce == "amax" else math.inf
    limits = torch.iinfo(dtype)
    return limits.min if reduce == "amax" else limits.max


@decomposes(aten.put.default)
def _put(x: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """Elements are counted along the flattened tensor."""
    flat, places = x.reshape(-1), index.reshape(-1)
    places = torch.where(places < 0, places + flat.numel(), places)
    updates = source.reshape(-1)
    done = flat.scatter_add(0, places, updates) if accumulate else flat.scatter(0, places, updates)
    return done.reshape(x.shape)
