"""Learning rates that change without compiling again: the rate is a device value."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from pfcomp.frontend.names import get_tensor_name


class MNCoreLRScheduler:
    """Steps a torch scheduler and sends the new rates to the context's device."""

    def __init__(self, scheduler: Any, context: Any) -> None:
        self.scheduler, self.context = scheduler, context

    def step(self, *args: Any, **kwargs: Any) -> None:
        """One step of the wrapped scheduler; rates that are not registered only change on the host."""
        self.scheduler.step(*args, **kwargs)
        for group in self.scheduler.optimizer.param_groups:
            rate = group["lr"]
            if isinstance(rate, Tensor) and get_tensor_name(rate) in self.context.registry.entries:
                self.context.get_registered_value_proxy(rate).load_from(rate)

    def get_last_lr(self) -> list[float]:
        """The current rates as numbers."""
        return [float(rate) for rate in self.scheduler.get_last_lr()]

    def state_dict(self) -> Any:
        """State of the wrapped scheduler."""
        return self.scheduler.state_dict()

    def load_state_dict(self, state: Any) -> None:
        """Restore the wrapped scheduler."""
        self.scheduler.load_state_dict(state)
