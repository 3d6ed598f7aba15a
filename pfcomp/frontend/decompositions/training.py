"""Normalisation and loss operators of training whose stock translations are wrong (frontend.md 2)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


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
    """Biased variance normalises, the unbiased one enters the running variance."""
    axes = [0, *range(2, x.dim())]
    shape = [1, -1, *([1] * (x.dim() - 2))]
    count = x.numel() // max(x.shape[1], 1)
    if not training:
        mean, variance = running_mean, running_var
    else:
        mean = x.mean(axes)
        distance = x - mean.reshape(shape)
        variance = (distance * distance).mean(axes)
    rstd = torch.rsqrt(variance + eps)
    value = (x - mean.reshape(shape)) * rstd.reshape(shape)
    if weight is not None:
        value = value * weight.reshape(shape)
    if bias is not None:
        value = value + bias.reshape(shape)
    if not training:
        return value, x.new_zeros(0), x.new_zeros(0), running_mean, running_var
    unbiased = variance * (count / max(count - 1, 1))
    new_mean = running_mean * (1 - momentum) + mean * momentum
    new_var = running_var * (1 - momentum) + unbiased * momentum
    return value, mean, rstd, new_mean, new_var
