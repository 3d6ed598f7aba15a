"""Order statistics, running extremes and searches, from sorting, comparisons and sums."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


@decomposes(aten.kthvalue.default)
def _kth(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The k-th smallest element along an axis, and where it stands."""
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    values, places = torch.topk(x, k, dim, largest=False)
    last = (t.narrow(dim, k - 1, 1) for t in (values, places))
    value, place = (t if keepdim else t.squeeze(dim) for t in last)
    return value.clone(), place.clone()


@decomposes(aten.median.dim)
def _median(x: Tensor, dim: int = -1, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """The lower one of the two in the middle."""
    value, place = _kth(x, (x.shape[dim] + 1) // 2 if x.dim() else 1, dim, keepdim)
    return value, place


@decomposes(aten.median.default)
def _median_of_all(x: Tensor) -> Tensor:
    return _median(x.reshape(-1))[0]


@decomposes(aten.cummax.default)
def _cummax(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _running(x, dim, torch.gt)


@decomposes(aten.cummin.default)
def _cummin(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    return _running(x, dim, torch.lt)


def _running(x: Tensor, dim: int, better: Any) -> tuple[Tensor, Tensor]:
    """The best element up to each place and where it stands, the last one of equals, in log2(n) rounds.

    Round r takes what stands 2^r places before if it is better.
    """
    if x.dim() == 0:
        return x.clone(), torch.zeros((), dtype=torch.int64)
    length = x.shape[dim]
    column = [1] * x.dim()
    column[dim] = length
    best, places = x.clone(), torch.arange(length).reshape(column).expand(x.shape)
    step = 1
    while step < length:
        old, old_places = _shifted(best, dim, step), _shifted(places, dim, step)
        takes = better(old, best)
        best, places = torch.where(takes, old, best), torch.where(takes, old_places, places)
        step *= 2
    return best, places


def _shifted(x: Tensor, dim: int, step: int) -> Tensor:
    """What stands `step` places before; the first places keep their own."""
    length = x.shape[dim]
    return torch.cat([x.narrow(dim, 0, step), x.narrow(dim, 0, length - step)], dim)


@decomposes(aten.searchsorted.Tensor, aten.searchsorted.Scalar)
def _searchsorted(
    row: Tensor,
    x: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """How many elements of the sorted rows lie before each value."""
    x = torch.as_tensor(x)
    if sorter is not None:
        row = row.gather(-1, sorter)
    ordered = row.unsqueeze(-2) if row.dim() > 1 else row
    before = ordered <= x.unsqueeze(-1) if right or side == "right" else ordered < x.unsqueeze(-1)
    return before.sum(-1).to(torch.int32 if out_int32 else torch.int64)


@decomposes(aten.histc.default)
def _histc(x: Tensor, bins: int = 100, min: Any = 0, max: Any = 0) -> Tensor:
    """Counts of `bins` equal ranges from min to max, or, where these are equal, over the range of the elements."""
    x = x.reshape(-1)
    low, high = (x.amin(), x.amax()) if min == max else (torch.as_tensor(min), torch.as_tensor(max))
    equal = high == low
    low, high = torch.where(equal, low - 1, low), torch.where(equal, high + 1, high)
    place = ((x - low) * (bins / (high - low))).floor()
    place = torch.where(x == high, bins - 1, place)
    return (place.unsqueeze(-1) == torch.arange(bins)).sum(0).to(x.dtype)
