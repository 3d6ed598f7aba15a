"""What the optimizers share: rates as tensors, states made in the constructor, loading in place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor


class MNCoreOptimizer(torch.optim.Optimizer):  # type: ignore[misc]
    """Base of the compilable optimizers.

    Every value that changes between steps is a tensor made once: `lr` of each parameter group (a float32 scalar, which
    torch's schedulers fill in place) and the states of each parameter and group. Their identity never changes, so
    names and registrations stay valid.
    """

    def __init__(self, params: Iterable[Any], lr: float, **defaults: Any) -> None:
        if not float(lr) >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, {"lr": float(lr), **defaults})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters and make its rate and states."""
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        group["lr"] = torch.tensor(float(group["lr"]), dtype=torch.float32)
        group.update(self._group_states(group))
        for parameter in group["params"]:
            self.state[parameter].update(self._parameter_states(group, parameter))

    def _group_states(self, group: Mapping[str, Any]) -> dict[str, Tensor]:
        """Tensors that the parameters of a group share."""
        return {}

    def _parameter_states(self, group: Mapping[str, Any], parameter: Tensor) -> dict[str, Tensor]:
        """Tensors of one parameter."""
        return {}

    def _begin(self, group: dict[str, Any]) -> None:
        """Advance what the parameters of a group share, before their updates."""

    def _end(self, group: dict[str, Any]) -> None:
        """Advance what the parameters of a group share, after their updates."""

    def _update(self, group: dict[str, Any], parameter: Tensor, gradient: Tensor, state: dict[str, Tensor]) -> None:
        """Change one parameter and its state in place."""

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient; returns the closure's loss, if there is a closure."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            self._begin(group)
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(group, parameter, parameter.grad, self.state[parameter])
            self._end(group)
        return loss

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Copy values into the existing tensors; ValueError where groups or states do not match."""
        groups = state_dict["param_groups"]
        if [len(group["params"]) for group in groups] != [len(group["params"]) for group in self.param_groups]:
            raise ValueError("loaded state dict has other parameter groups")
        for group, saved in zip(self.param_groups, groups, strict=True):
            for key, value in saved.items():
                if key != "params":
                    _load(group, key, value)
            for parameter, number in zip(group["params"], saved["params"], strict=True):
                for key, value in state_dict["state"].get(number, {}).items():
                    _load(self.state[parameter], key, value)


def _load(target: dict[str, Any], key: str, value: Any) -> None:
    """Set an entry; a tensor keeps its identity."""
    present = target.get(key)
    if isinstance(present, Tensor):
        present.copy_(torch.as_tensor(value))
    else:
        target[key] = value
