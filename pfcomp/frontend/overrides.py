"""Operators that the substitution mode replaces while a function is recorded.

They must be replaced here and not by a decomposition of the second pass: their arguments still are the user's real
tensors, which only the substitution mode turns into states (frontend.md 1).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend import randomness
from pfcomp.frontend.randomness import Randomness

aten = torch.ops.aten


def _batch_norm(
    _: Randomness,
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """`native_batch_norm` writes the running statistics without saying so in its schema."""
    if running_mean is None or running_var is None:
        return aten._native_batch_norm_legit.no_stats(x, weight, bias, training, momentum, eps)
    if not training:
        no_training = aten._native_batch_norm_legit_no_training.default
        return no_training(x, weight, bias, running_mean, running_var, momentum, eps)
    value, mean, rstd, new_mean, new_var = aten._native_batch_norm_legit_functional.default(
        x, weight, bias, running_mean, running_var, training, momentum, eps
    )
    running_mean.copy_(new_mean)
    running_var.copy_(new_var)
    return value, mean, rstd


OVERRIDES: dict[Any, Callable[..., Any]] = randomness.OVERRIDES | {aten.native_batch_norm.default: _batch_norm}
"""Operator -> function of (Randomness, the operator's arguments)."""
