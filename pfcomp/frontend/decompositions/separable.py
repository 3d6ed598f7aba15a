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
    """(result length, `size`) matrix of an operator on [N, 1, size, 2] tensors that acts on axis 2 only.

    Two equal columns, because torch's antialiasing goes wrong on tensors one column wide.
    """
    with _disable_current_modes(), torch.no_grad():
        identity = torch.eye(size).reshape(size, 1, size, 1).repeat(1, 1, 1, 2)
        return operator(identity)[:, 0, :, 0].T.contiguous()


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


def _avg_pool_matrices(
    x: Tensor, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, divisor: int | None
) -> list[Tensor]:
    """Matrix of each pooled axis; with a divisor of its own, matrices of plain sums."""
    count = len(kernel) if len(kernel) > 1 else 2
    sizes, edges = _all(kernel, count), _all(padding, count)
    steps = _all(stride, count) if stride else sizes
    one = None if divisor is None else 1

    def pooled(k: int, s: int, p: int) -> Callable[[Tensor], Tensor]:
        return lambda e: aten.avg_pool2d(e, [k, 1], [s, 1], [p, 0], ceil_mode, count_include_pad, one)

    lengths = x.shape[-count:]
    return [axis_matrix(n, pooled(k, s, p)) for n, k, s, p in zip(lengths, sizes, steps, edges, strict=True)]


@decomposes(aten.avg_pool2d.default, aten.avg_pool3d.default)
def _avg_pool(
    x: Tensor,
    kernel: Any,
    stride: Any = (),
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Only what ONNX's AveragePool does not say the same way: rounding up, or another divisor."""
    if not ceil_mode and divisor_override is None:
        return NotImplemented
    matrices = _avg_pool_matrices(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    result = x
    for axis, matrix in zip(range(x.dim() - len(matrices), x.dim()), matrices, strict=True):
        result = apply_matrix(result, matrix, axis)
    return result.contiguous() if divisor_override is None else result / divisor_override


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
    matrices = _avg_pool_matrices(x, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override)
    result = _gradient(grad, matrices)
    return result if divisor_override is None else result / divisor_override


def _adaptive_matrix(size: int, wanted: int) -> Tensor:
    return axis_matrix(size, lambda e: aten._adaptive_avg_pool2d(e, [wanted, 2]))


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


def _nearest_matrix(forward: Any, have: int, wanted: int, scale: float | None) -> Tensor:
    return axis_matrix(have, lambda e: forward(e, [wanted, 2], scale, None))


def _nearest_backward(exact: bool) -> Callable[..., Tensor]:
    forward = aten._upsample_nearest_exact2d if exact else aten.upsample_nearest2d

    def backward(grad: Tensor, output_size: Sequence[int], input_size: Sequence[int], *scales: Any) -> Tensor:
        matrices = []
        for number, (have, wanted) in enumerate(zip(input_size[2:], grad.shape[2:], strict=True)):
            scale = scales[number] if number < len(scales) else None
            matrices.append(_nearest_matrix(forward, have, wanted, scale))
        return _gradient(grad, matrices)

    return backward


for _overload in _NEAREST:
    decomposes(_overload)(_nearest_backward("exact" in str(_overload)))


_INTERPOLATIONS = {
    "upsample_linear1d": aten.upsample_bilinear2d,
    "upsample_bilinear2d": aten.upsample_bilinear2d,
    "upsample_trilinear3d": aten.upsample_bilinear2d,
    "upsample_bicubic2d": aten.upsample_bicubic2d,
    "_upsample_bilinear2d_aa": aten._upsample_bilinear2d_aa,
    "_upsample_bicubic2d_aa": aten._upsample_bicubic2d_aa,
}
"""Operator -> the two-dimensional operator that acts on one axis in the same way."""


def _interpolation_matrix(forward: Any, have: int, wanted: int, align_corners: bool, scale: float | None) -> Tensor:
    return axis_matrix(have, lambda e: forward(e, [wanted, 2], align_corners, scale, None))


def _interpolated(forward: Any) -> Callable[..., Tensor]:
    def run(x: Tensor, size: Sequence[int], align_corners: bool, *scales: Any) -> Tensor:
        result = x
        for number, wanted in enumerate(size):
            have, scale = x.shape[number + 2], scales[number] if number < len(scales) else None
            if have != wanted:
                matrix = _interpolation_matrix(forward, have, wanted, align_corners, scale)
                result = apply_matrix(result, matrix, number + 2)
        return result.contiguous()

    return run


def _interpolated_backward(forward: Any) -> Callable[..., Tensor]:
    def run(
        grad: Tensor, output_size: Sequence[int], input_size: Sequence[int], align_corners: bool, *scales: Any
    ) -> Tensor:
        matrices = []
        for number, (have, wanted) in enumerate(zip(input_size[2:], grad.shape[2:], strict=True)):
            scale = scales[number] if number < len(scales) else None
            matrices.append(_interpolation_matrix(forward, have, wanted, align_corners, scale))
        return _gradient(grad, matrices)

    return run


for _name, _forward in _INTERPOLATIONS.items():
    decomposes(getattr(aten, _name).default)(_interpolated(_forward))
    decomposes(getattr(aten, f"{_name}_backward").default)(_interpolated_backward(_forward))


def _padding_matrix(forward: Any, have: int, low: int, high: int) -> Tensor:
    return axis_matrix(have, lambda e: forward(e, [0, 0, low, high]))


def _padding_backward(forward: Any) -> Callable[..., Tensor]:
    def backward(grad: Tensor, x: Tensor, padding: Sequence[int]) -> Tensor:
        count = len(padding) // 2
        matrices = []
        for number, have in enumerate(x.shape[-count:]):
            low, high = padding[2 * (count - 1 - number)], padding[2 * (count - 1 - number) + 1]
            matrices.append(_padding_matrix(forward, have, low, high))
        return _gradient(grad, matrices)

    return backward


for _kind, _forward in (("replication", aten.replication_pad2d), ("reflection", aten.reflection_pad2d)):
    for _count in (1, 2, 3):
        decomposes(getattr(aten, f"{_kind}_pad{_count}d_backward").default)(_padding_backward(_forward))
