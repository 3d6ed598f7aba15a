"""Stochastic gradient descent with momentum, as torch.optim.SGD."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.optim.base import MNCoreOptimizer


class MNCoreSGD(MNCoreOptimizer):
    """`v = momentum v + (1 - dampening) g; p = p - lr v`; the first step takes `v = g` whatever the dampening."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params, lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov
        )

    def _group_states(self, group: Mapping[str, Any]) -> dict[str, Tensor]:
        # 0 before the first step, 1 after it: the first gradient is not damped
        return {"started": torch.zeros(())} if group["momentum"] and group["dampening"] else {}

    def _parameter_states(self, group: Mapping[str, Any], parameter: Tensor) -> dict[str, Tensor]:
        return {"momentum_buffer": torch.zeros_like(parameter)} if group["momentum"] else {}

    def _end(self, group: dict[str, Any]) -> None:
        if "started" in group:
            group["started"].fill_(1.0)

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        if group["weight_decay"]:
            gradient = gradient + parameter * group["weight_decay"]
        if group["momentum"]:
            velocity = state["momentum_buffer"]
            fresh = gradient * (1 - group["dampening"] * group["started"]) if "started" in group else gradient
            velocity.mul_(group["momentum"]).add_(fresh)
            gradient = gradient + velocity * group["momentum"] if group["nesterov"] else velocity
        parameter.sub_(gradient * group["lr"])
