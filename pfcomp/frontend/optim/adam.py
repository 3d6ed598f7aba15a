"""Adam and AdamW, as torch.optim.Adam and torch.optim.AdamW.

The bias corrections `1 - beta^t` are states of the group that follow `c = beta c + (1 - beta)`: all terms are
positive, so single precision keeps them exact to a few units in the last place where `1 - beta ** t` would cancel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from pfcomp.frontend.optim.base import MNCoreOptimizer

_ADAM_NAMES = {
    "learning_rate": "lr",
    "alpha": "beta1",
    "beta": "beta2",
    "norm_coefficient": "weight_decay",
    "epsilon": "eps",
}
_ADAMW_NAMES = {"learning_rate": "lr"}


class _Moments(MNCoreOptimizer):
    """First and second moments and their corrections."""

    def _group_states(self, group: Mapping[str, Any]) -> dict[str, Tensor]:
        return {"correction1": torch.zeros(()), "correction2": torch.zeros(())}

    def _parameter_states(self, group: Mapping[str, Any], parameter: Tensor) -> dict[str, Tensor]:
        return {"exp_avg": torch.zeros_like(parameter), "exp_avg_sq": torch.zeros_like(parameter)}

    def _begin(self, group: dict[str, Any]) -> None:
        for beta, correction in zip(group["betas"], (group["correction1"], group["correction2"]), strict=True):
            correction.mul_(beta).add_(1 - beta)

    def _moved(self, group: dict[str, Any], gradient: Tensor, state: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Both moments after taking the gradient in."""
        beta1, beta2 = group["betas"]
        first, second = state["exp_avg"], state["exp_avg_sq"]
        first.mul_(beta1).add_(gradient * (1 - beta1))
        second.mul_(beta2).add_(gradient * gradient * (1 - beta2))
        return first, second

    def _torch_step(self, group: dict[str, Any], first: Tensor, second: Tensor) -> Tensor:
        """What torch subtracts: `lr / c1 * m / (sqrt(v) / sqrt(c2) + eps)`."""
        divisor = second.sqrt() / group["correction2"].sqrt() + group["eps"]
        return first / divisor * (group["lr"] / group["correction1"])


class MNCoreAdam(_Moments):
    """Adam. With `chainer_use_torch=False` eps is added to the uncorrected root and the decay is decoupled, as Chainer.

    Both of the SDK's keyword styles are taken: (lr, betas, eps, weight_decay) and (learning_rate, alpha, beta,
    norm_coefficient, epsilon); an unknown keyword is a TypeError.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        chainer_use_torch: bool = True,
        **old_style: float,
    ) -> None:
        values = {"lr": lr, "beta1": betas[0], "beta2": betas[1], "eps": eps, "weight_decay": weight_decay}
        values |= _translated("MNCoreAdam", old_style, _ADAM_NAMES)
        super().__init__(params, **_defaults(values), chainer_use_torch=chainer_use_torch)

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        decay = group["weight_decay"]
        if group["chainer_use_torch"]:
            if decay:
                gradient = gradient + parameter * decay
            parameter.sub_(self._torch_step(group, *self._moved(group, gradient, state)))
            return
        first, second = self._moved(group, gradient, state)
        rate = group["lr"] * group["correction2"].sqrt() / group["correction1"]
        change = first / (second.sqrt() + group["eps"]) * rate
        parameter.sub_(change + parameter * decay if decay else change)


class MNCoreAdamW(_Moments):
    """AdamW: the decay `p = p (1 - lr weight_decay)` is apart from the gradient.

    Both of the SDK's keyword styles are taken: (lr, betas, ...) and (learning_rate, beta1, beta2, ...).
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        **old_style: float,
    ) -> None:
        values = {"lr": lr, "beta1": betas[0], "beta2": betas[1], "eps": eps, "weight_decay": weight_decay}
        names = {**_ADAMW_NAMES, "beta1": "beta1", "beta2": "beta2"}
        super().__init__(params, **_defaults(values | _translated("MNCoreAdamW", old_style, names)))

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        if group["weight_decay"]:
            parameter.mul_(1 - group["lr"] * group["weight_decay"])
        parameter.sub_(self._torch_step(group, *self._moved(group, gradient, state)))


def _translated(owner: str, given: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    for key in given:
        if key not in names:
            raise TypeError(f"{owner}.__init__() got an unexpected keyword argument '{key}'")
    return {names[key]: value for key, value in given.items()}


def _defaults(values: Mapping[str, float]) -> dict[str, Any]:
    beta1, beta2 = values["beta1"], values["beta2"]
    if not (0 <= beta1 < 1 and 0 <= beta2 < 1):
        raise ValueError(f"Invalid betas: {beta1}, {beta2}")
    return {
        "lr": values["lr"],
        "betas": (beta1, beta2),
        "eps": values["eps"],
        "weight_decay": values["weight_decay"],
    }
