"""Element-wise operators that neither ONNX nor torch's own table takes apart far enough."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


@decomposes(aten.softshrink_backward.default, aten.hardshrink_backward.default)
def _shrink_backward(grad: Tensor, x: Tensor, lambd: Any) -> Tensor:
    return torch.where((x >= -lambd) & (x <= lambd), 0.0, grad)


@decomposes(aten.hypot.default)
def _hypot(x: Tensor, y: Tensor) -> Tensor:
    return (x * x + y * y).sqrt()


@decomposes(aten.atan2.default)
def _atan2(y: Tensor, x: Tensor) -> Tensor:
    """Quadrants from the signs; the sign of a zero `y` is not told apart."""
    flat = torch.where(x == 0, 1.0, x)
    angle = torch.atan(y / flat)
    upper = torch.where(y < 0, angle - math.pi, angle + math.pi)
    on_axis = torch.where(y > 0, math.pi / 2, torch.where(y < 0, -math.pi / 2, 0.0))
    return torch.where(x > 0, angle, torch.where(x < 0, upper, on_axis))
