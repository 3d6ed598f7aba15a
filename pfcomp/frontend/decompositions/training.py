"""Normalisation of training, written out: stock translations lose or forge the statistics (frontend.md 2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


def _normalised(x: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor, rstd: Tensor) -> Tensor:
    """`(x - mean) * rstd * weight + bias` by channel."""
    shape = [1, -1, *([1] * (x.dim() - 2))]
    value = (x - mean.reshape(shape)) * rstd.reshape(shape)
    if weight is not None:
        value = value * weight.reshape(shape)
    return value if bias is None else value + bias.reshape(shape)


def _statistics(x: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and biased variance by channel."""
    axes = [0, *range(2, x.dim())]
    mean = x.mean(axes)
    distance = x - mean.reshape([1, -1, *([1] * (x.dim() - 2))])
    return mean, (distance * distance).mean(axes)


@decomposes(aten._native_batch_norm_legit_functional.default)
def _batch_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Any, ...]:
    """Training form: the biased variance normalises, the unbiased one enters the running variance."""
    mean, variance = _statistics(x)
    rstd = torch.rsqrt(variance + eps)
    count = x.numel() // max(x.shape[1], 1)
    unbiased = variance * (count / max(count - 1, 1))
    new_mean = running_mean * (1 - momentum) + mean * momentum
    new_var = running_var * (1 - momentum) + unbiased * momentum
    return _normalised(x, weight, bias, mean, rstd), mean, rstd, new_mean, new_var


@decomposes(aten._native_batch_norm_legit.no_stats)
def _batch_norm_without_statistics(
    x: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    mean, variance = _statistics(x)
    rstd = torch.rsqrt(variance + eps)
    return _normalised(x, weight, bias, mean, rstd), mean, rstd


@decomposes(aten._safe_softmax.default)
def _safe_softmax(x: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """A softmax that is 0 where a row is masked completely."""
    value = x if dtype is None else x.to(dtype)
    masked = value.amax(dim, keepdim=True) == float("-inf")
    return torch.where(masked, 0.0, torch.softmax(value, dim))


@decomposes(aten._weight_norm_interface.default)
def _weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> tuple[Tensor, Tensor]:
    axes = [axis for axis in range(v.dim()) if axis != dim % v.dim()]
    norm = (v * v).sum(axes, keepdim=True).sqrt()
    return v * (g / norm), norm


@decomposes(aten._weight_norm_interface_backward.default)
def _weight_norm_backward(grad: Tensor, v: Tensor, g: Tensor, norm: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    axes = [axis for axis in range(v.dim()) if axis != dim % v.dim()]
    total = (grad * v).sum(axes, keepdim=True)
    return g / norm * (grad - v * (total / (norm * norm))), total / norm
