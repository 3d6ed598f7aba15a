"""Pooling, resampling and padding gradients: linear operators that act on each axis alone (frontend.md 2).

The matrix of an axis is torch's own forward operator on an identity, so every size, rounding mode and padding is exact;
the gradient of `y = M x` along an axis is `M^T y`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten


def axis_matrix(size: int, operator: Callable[[Tensor], Tensor]) -> Tensor:
    """(result length, `size`) matrix of an operator on [N, 1, size, 1] tensors that acts on axis 2 only."""
    with _disable_current_modes(), torch.no_grad():
        return operator(torch.eye(size).reshape(size, 1, size, 1))[:, 0, :, 0].T.contiguous()


def apply_matrix(x: Tensor, matrix: Tensor, axis: int) -> Tensor:
    """`matrix` times `x` along one axis."""
    moved = torch.movedim(x, axis, -1)
    result = torch.matmul(moved, matrix.to(x.dtype).t())
    return torch.movedim(result, -1, axis)


def _gradient(grad: Tensor, matrices: Sequence[Tensor]) -> Tensor:
    """The transposed operators on the last axes of a gradient."""
    result = grad
    for offset, matrix in enumerate(reversed(matrices), start=1):
        result = apply_matrix(result, matrix.t(), grad.dim() - offset)
    return result.contiguous()


def _all(values: Any, count: int) -> list[int]:
    items = [values] if isinstance(values, int) else list(values)
    return items * count if len(items) == 1 else items


@decomposes(aten.avg_pool2d_backward.default, aten.avg_pool3d_backward.default)
def _avg_pool_backward(
    grad: Tensor,
    x: Tensor,
    kernel: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Tensor:
    count = len(kernel) if not isinstance(kernel, int) and len(kernel) > 1 else 2
    sizes, edges = _all(kernel, count), _all(padding, count)
    steps = _all(stride, count) if stride else sizes
    divisor = None if divisor_override is None else 1
    matrices = []
    for length, k, s, p in zip(x.shape[-count:], sizes, steps, edges, strict=True):
        matrices.append(
            axis_matrix(
                length,
                lambda e, k=k, s=s, p=p: aten.avg_pool2d(
                    e, [k, 1], [s, 1], [p, 0], ceil_mode, count_include_pad, divisor
                ),
            )
        )
    result = _gradient(grad, matrices)
    return result if divisor_override is None else result / divisor_override


def _adaptive_matrix(size: int, wanted: int) -> Tensor:
    return axis_matrix(size, lambda e: aten._adaptive_avg_pool2d(e, [wanted, 1]))


@decomposes(aten._adaptive_avg_pool2d.default, aten._adaptive_avg_pool3d.default)
def _adaptive_avg_pool(x: Tensor, size: Sequence[int]) -> Tensor:
    """A mean where the result has one element, blocks where the sizes divide, a matrix product else."""
    count = len(size)
    axes = range(x.dim() - count, x.dim())
    if all(n == 1 for n in size):
        return x.mean(list(axes), keepdim=True)
    result = x
    for axis, wanted in zip(axes, size, strict=True):
        have = x.shape[axis]
        if have == wanted:
            continue
        if have % wanted == 0:
            shape = [*result.shape[:axis], wanted, have // wanted, *result.shape[axis + 1 :]]
            result = result.reshape(shape).mean(axis + 1)
        else:
            result = apply_matrix(result, _adaptive_matrix(have, wanted), axis)
    return result.contiguous()


@decomposes(aten._adaptive_avg_pool2d_backward.default, aten._adaptive_avg_pool3d_backward.default)
def _adaptive_avg_pool_backward(grad: Tensor, x: Tensor) -> Tensor:
    count = 2 if x.dim() <= 4 else 3
    sizes = grad.shape[-count:]
    if all(n == 1 for n in sizes):
        area = 1
        for length in x.shape[-count:]:
            area *= length
        return (grad / area).expand(x.shape).contiguous()
    pairs = zip(x.shape[-count:], sizes, strict=True)
    return _gradient(grad, [_adaptive_matrix(have, wanted) for have, wanted in pairs])


_NEAREST = (
    *(aten.upsample_nearest1d_backward.default, aten.upsample_nearest2d_backward.default),
    *(aten.upsample_nearest3d_backward.default, aten._upsample_nearest_exact1d_backward.default),
    *(aten._upsample_nearest_exact2d_backward.default, aten._upsample_nearest_exact3d_backward.default),
)


def _nearest_backward(exact: bool) -> Callable[..., Tensor]:
    forward = aten._upsample_nearest_exact2d if exact else aten.upsample_nearest2d

    def backward(grad: Tensor, output_size: Sequence[int], input_size: Sequence[int], *scales: Any) -> Tensor:
        matrices = []
        for number, (have, wanted) in enumerate(zip(input_size[2:], grad.shape[2:], strict=True)):
            scale = scales[number] if number < len(scales) else None
            matrices.append(axis_matrix(have, lambda e, w=wanted, s=scale: forward(e, [w, 1], s, None)))
        return _gradient(grad, matrices)

    return backward


for _overload in _NEAREST:
    decomposes(_overload)(_nearest_backward("exact" in str(_overload)))


_INTERPOLATED = {
    aten.upsample_linear1d_backward.default: aten.upsample_bilinear2d,
    aten.upsample_bilinear2d_backward.default: aten.upsample_bilinear2d,
    aten.upsample_trilinear3d_backward.default: aten.upsample_bilinear2d,
    aten.upsample_bicubic2d_backward.default: aten.upsample_bicubic2d,
}


def _interpolated_backward(forward: Any) -> Callable[..., Tensor]:
    def backward(
        grad: Tensor, output_size: Sequence[int], input_size: Sequence[int], align_corners: bool, *scales: Any
    ) -> Tensor:
        matrices = []
        for number, (have, wanted) in enumerate(zip(input_size[2:], grad.shape[2:], strict=True)):
            scale = scales[number] if number < len(scales) else None
            matrices.append(axis_matrix(have, lambda e, w=wanted, s=scale: forward(e, [w, 1], align_corners, s, None)))
        return _gradient(grad, matrices)

    return backward


for _overload, _forward in _INTERPOLATED.items():
    decomposes(_overload)(_interpolated_backward(_forward))


def _padding_backward(forward: Any) -> Callable[..., Tensor]:
    def backward(grad: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
        count = len(padding) // 2
        matrices = []
        for number, have in enumerate(x.shape[-count:]):
            low, high = padding[2 * (count - 1 - number)], padding[2 * (count - 1 - number) + 1]
            matrices.append(axis_matrix(have, lambda e, p=(0, 0, low, high): forward(e, list(p))))
        return _gradient(grad, matrices)

    return backward


for _kind, _forward in (("replication", aten.replication_pad2d), ("reflection", aten.reflection_pad2d)):
    for _count in (1, 2, 3):
        decomposes(getattr(aten, f"{_kind}_pad{_count}d_backward").default)(_padding_backward(_forward))
