"""Gradients of convolutions as convolutions (frontend.md 2); any number of spatial axes, groups, transposed or not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


@decomposes(aten.convolution_backward.default)
def _convolution_backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    count = x.dim() - 2
    steps, edges, gaps = (list(v) * count if len(v) == 1 else list(v) for v in (stride, padding, dilation))
    grad_x = grad_w = grad_b = None
    if output_mask[0] and transposed:
        grad_x = aten.convolution(grad, weight, None, steps, edges, gaps, False, [0] * count, groups)
    elif output_mask[0]:
        rest = _output_padding(grad, x, weight, steps, edges, gaps)
        grad_x = aten.convolution(grad, weight, None, steps, edges, gaps, True, rest, groups)
    if output_mask[1]:
        large, small = (grad, x) if transposed else (x, grad)
        grad_w = _weight_gradient(large, small, weight, steps, edges, gaps, groups)
    if output_mask[2]:
        grad_b = grad.sum([0, *range(2, x.dim())])
    return grad_x, grad_w, grad_b


def _output_padding(
    grad: Tensor, x: Tensor, weight: Tensor, stride: list[int], padding: list[int], dilation: list[int]
) -> list[int]:
    """Elements at the end of each axis that the forward convolution did not reach."""
    rest = []
    for axis, (step, edge, gap) in enumerate(zip(stride, padding, dilation, strict=True), start=2):
        reached = (grad.shape[axis] - 1) * step - 2 * edge + gap * (weight.shape[axis] - 1) + 1
        rest.append(x.shape[axis] - reached)
    return rest


def _weight_gradient(
    large: Tensor,
    small: Tensor,
    weight: Tensor,
    stride: list[int],
    padding: list[int],
    dilation: list[int],
    groups: int,
) -> Tensor:
    """The large side correlated with the small side: batch and channels change places, stride and dilation too.

    `large` [N, C, ...] becomes [C / groups, groups N, ...], `small` [N, O, ...] the kernel [O, N, ...].
    """
    batch, channels, *size = large.shape
    spatial = list(range(3, large.dim() + 1))
    folded = large.reshape(batch, groups, channels // groups, *size).permute(2, 1, 0, *spatial)
    folded = folded.reshape(channels // groups, groups * batch, *size)
    kernel = small.transpose(0, 1).contiguous()
    zeros = [0] * len(size)
    result = aten.convolution(folded.contiguous(), kernel, None, dilation, padding, stride, False, zeros, groups)
    for axis in range(2, result.dim()):
        result = result.narrow(axis, 0, weight.shape[axis])
    return result.transpose(0, 1).contiguous()
