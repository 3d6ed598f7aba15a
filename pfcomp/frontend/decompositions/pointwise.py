"""Element-wise operators that neither ONNX nor torch's own table takes apart far enough."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


@decomposes(aten.erfc.default, aten.special_erfc.default)
def _erfc(x: Tensor) -> Tensor:
    return 1 - torch.erf(x)


@decomposes(aten.exp2.default, aten.special_exp2.default)
def _exp2(x: Tensor) -> Tensor:
    return torch.pow(2.0, x)


@decomposes(aten.signbit.default)
def _signbit(x: Tensor) -> Tensor:
    """Zeros are told apart by their reciprocals."""
    return torch.where(x == 0, x.reciprocal(), x) < 0 if x.is_floating_point() else x < 0


@decomposes(aten.copysign.Tensor, aten.copysign.Scalar)
def _copysign(x: Tensor, y: Any) -> Tensor:
    magnitude = x.abs() if x.is_floating_point() else x.float().abs()
    return torch.where(torch.signbit(torch.as_tensor(y)), -magnitude, magnitude)


@decomposes(aten.round.decimals)
def _round(x: Tensor, *, decimals: int) -> Tensor:
    scale = 10.0 ** abs(decimals)
    return torch.round(x * scale) / scale if decimals > 0 else torch.round(x / scale) * scale


_NEAR = (
    *(2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087),
    *(-0.00125372503, -0.00417768164, 0.246640727, 1.50140941),
)
_FAR = (
    *(-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773),
    *(-0.0076224613, 0.00943887047, 1.00167406, 2.83297682),
)
"""Polynomials in `w = -log(1 - x^2)`: in `w - 2.5` below 5, in `sqrt(w) - 3` from there on."""


@decomposes(aten.erfinv.default)
def _erfinv(x: Tensor) -> Tensor:
    """Single precision's polynomials; Newton steps on erf refine them in double precision. NaN outside [-1, 1]."""
    w = -torch.log((1 - x) * (1 + x))
    value = torch.where(w < 5, _polynomial(_NEAR, w - 2.5), _polynomial(_FAR, w.sqrt() - 3)) * x
    if x.dtype == torch.float64:
        for _ in range(2):
            value = value - (torch.erf(value) - x) * torch.exp(value * value) * (math.sqrt(math.pi) / 2)
    return torch.where(x.abs() == 1, x * math.inf, value)


def _polynomial(coefficients: Sequence[float], x: Tensor) -> Tensor:
    value = torch.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value


@decomposes(aten.logcumsumexp.default)
def _logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """For each place the logsumexp of the elements up to it, as one reduction over a triangle of them."""
    if x.dim() == 0:
        return x.clone()
    last = x.movedim(dim, -1)
    places = torch.arange(last.shape[-1])
    triangle = torch.where(places <= places.unsqueeze(1), last.unsqueeze(-2), -math.inf)
    return triangle.logsumexp(-1).movedim(-1, dim)
