"""Gradients of max pooling: each gradient goes to the element that was the maximum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


def _sent_back(grad: Tensor, x: Tensor, indices: Tensor, count: int) -> Tensor:
    """Sum of the gradients at each position of the last `count` axes."""
    plane = math.prod(x.shape[-count:])
    lead = x.shape[:-count]
    zeros = grad.new_zeros((*lead, plane))
    return zeros.scatter_add(-1, indices.reshape(*lead, -1), grad.reshape(*lead, -1)).reshape(x.shape)


@decomposes(aten.max_pool2d_with_indices_backward.default)
def _max_pool2d_backward(grad: Tensor, x: Tensor, *arguments: Any) -> Tensor:
    return _sent_back(grad, x, arguments[-1], 2)


@decomposes(aten.max_pool3d_with_indices_backward.default)
def _max_pool3d_backward(grad: Tensor, x: Tensor, *arguments: Any) -> Tensor:
    return _sent_back(grad, x, arguments[-1], 3)


@decomposes(aten.adaptive_max_pool2d_backward.default)
def _adaptive_max_pool_backward(grad: Tensor, x: Tensor, indices: Tensor) -> Tensor:
    return _sent_back(grad, x, indices, 2)


def _edges(size: int, wanted: int) -> list[tuple[int, int]]:
    """Start and end of each window of an adaptive pool."""
    return [(n * size // wanted, -(-(n + 1) * size // wanted)) for n in range(wanted)]


@decomposes(aten.adaptive_max_pool2d.default)
def _adaptive_max_pool(x: Tensor, size: Sequence[int]) -> tuple[Tensor, Tensor]:
    """One window after the other: windows have different sizes, and there are few."""
    width = x.shape[-1]
    values, places = [], []
    for top, bottom in _edges(x.shape[-2], size[0]):
        for left, right in _edges(width, size[1]):
            window = x[..., top:bottom, left:right].flatten(-2)
            value, place = window.max(-1)
            columns = right - left
            row = torch.div(place, columns, rounding_mode="floor")
            places.append((row + top) * width + place - row * columns + left)
            values.append(value)
    shape = (*x.shape[:-2], *size)
    return torch.stack(values, -1).reshape(shape), torch.stack(places, -1).reshape(shape)
