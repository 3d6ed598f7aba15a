"""Python-level calls of torch that are replaced before autograd and the dispatcher see them (frontend.md 1, 2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from pfcomp.errors import SourceError
from pfcomp.frontend.ctc import ctc_loss
from pfcomp.frontend.sources import current_source


class FunctionReplacement(TorchFunctionMode):  # type: ignore[misc]
    """Runs our own form of the functions of `REPLACED`; their gradients then come from the parts."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func == torch.Tensor.data.__set__:
            return _assign_data(*args)
        replacement = REPLACED.get(func)
        if replacement is None:
            return func(*args, **(kwargs or {}))
        return replacement(*args, **(kwargs or {}))


def _assign_data(target: Tensor, value: Tensor) -> None:
    """`p.data = x`, which no dispatch mode sees, as a copy."""
    if target.shape != value.shape:
        what = f"p.data of shape {tuple(target.shape)} gets a value of shape {tuple(value.shape)}"
        raise SourceError("PF0309", what, where=current_source(), hint="keep the shape")
    target.detach().copy_(value)


def _grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """Torch's decomposition, whose gathers have gradients of their own."""
    from torch._decomp.decompositions import grid_sampler_2d

    kinds, paddings = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    numbers = kinds.index(mode), paddings.index(padding_mode)
    if input.dim() != 4:
        return torch.grid_sampler(input, grid, *numbers, bool(align_corners))
    return grid_sampler_2d(input, grid, *numbers, bool(align_corners))


def _cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: Any = None) -> Tensor:
    gap = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return torch.linalg.vector_norm(gap, p, dim=-1)


def _bilinear(x1: Tensor, x2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    result = torch.einsum("...i,oij,...j->...o", x1, weight, x2)
    return result if bias is None else result + bias


REPLACED: dict[Any, Callable[..., Any]] = {
    torch.nn.functional.grid_sample: _grid_sample,
    torch.nn.functional.ctc_loss: ctc_loss,
    torch.cdist: _cdist,
    torch.bilinear: _bilinear,
    torch.nn.functional.bilinear: _bilinear,
}
"""Function -> ours with the same parameters."""
