"""Losses that pick a class: a comparison with the class numbers instead of gathers and scatters (frontend.md 2)."""

from __future__ import annotations

import torch
from torch import Tensor

from pfcomp.frontend.decompositions.table import decomposes

aten = torch.ops.aten
_MEAN, _SUM = 1, 2


def _chosen(scores: Tensor, target: Tensor, ignore_index: int) -> tuple[Tensor, int]:
    """(True where a score belongs to the target's class and counts, the axis of the classes)."""
    axis = 0 if scores.dim() == 1 else 1
    shape = [1] * scores.dim()
    shape[axis] = scores.shape[axis]
    classes = torch.arange(scores.shape[axis], dtype=target.dtype).reshape(shape)
    wanted = target.unsqueeze(axis)
    chosen = classes == wanted
    if 0 <= ignore_index < scores.shape[axis]:
        chosen = chosen & (wanted != ignore_index)
    return chosen, axis


def _weights(scores: Tensor, chosen: Tensor, weight: Tensor | None, axis: int) -> Tensor:
    """Each counting score's weight, 0 elsewhere."""
    if weight is None:
        return chosen.to(scores.dtype)
    shape = [1] * scores.dim()
    shape[axis] = scores.shape[axis]
    return torch.where(chosen, weight.reshape(shape), 0.0)


@decomposes(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def _nll_loss(
    scores: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    chosen, axis = _chosen(scores, target, ignore_index)
    # `where` and not a product: the scores of other classes may be infinite
    picked = torch.where(chosen, scores.neg(), 0.0)
    weights = _weights(scores, chosen, weight, axis)
    if weight is not None:
        picked = picked * weights
    if reduction == _SUM:
        return picked.sum(), weights.sum()
    if reduction == _MEAN:
        total = weights.sum()
        return picked.sum() / total, total
    return picked.sum(axis), scores.new_zeros(())


@decomposes(aten.nll_loss_backward.default, aten.nll_loss2d_backward.default)
def _nll_loss_backward(
    grad: Tensor,
    scores: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: Tensor,
) -> Tensor:
    chosen, axis = _chosen(scores, target, ignore_index)
    if reduction == _MEAN:
        grad = grad / total_weight
    spread = grad.unsqueeze(axis) if reduction not in (_MEAN, _SUM) else grad
    negative = spread.neg()
    if weight is not None:
        negative = negative * _weights(scores, chosen, weight, axis)
    return torch.where(chosen, negative, 0.0)
