"""Keeps a trace from changing the user's Python objects, and finds states that are replaced instead of written.

Modules cache tensors on themselves, `self.buf = self.buf + 1` rebinds a buffer, optimizers store states in
dictionaries: after a trace those places would hold fake tensors (frontend.md 1). The guard notes the contents of every
module at its first call and of every optimizer at its first step, and puts them back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from torch import Tensor
from torch._subclasses import FakeTensor
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_pre_hook

from pfcomp.errors import SourceError
from pfcomp.frontend.torch_optimizers import make_capturable


class CaptureWarning(UserWarning):
    """The captured function behaves in a way that a compiled function cannot repeat."""


class Guard:
    """A context manager around the run of a user's function. `rebound` lists (original tensor, new tensor)."""

    def __init__(self) -> None:
        self.rebound: list[tuple[Tensor, Tensor]] = []
        self._modules: dict[torch.nn.Module, dict[str, Any]] = {}
        self._optimizers: dict[int, tuple[torch.optim.Optimizer, dict[Any, dict[str, Any]]]] = {}
        self._settings: list[Callable[[], None]] = []
        self._hooks: list[Any] = []

    def __enter__(self) -> Guard:
        self._hooks = [
            register_module_forward_pre_hook(self._note_module),
            register_optimizer_step_pre_hook(self._note_optimizer),
        ]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for hook in self._hooks:
            hook.remove()
        for restore in reversed(self._settings):
            restore()
        for module, attributes in self._modules.items():
            self._restore_module(module, attributes)
        created = [name for pair in self._optimizers.values() for name in self._restore_optimizer(*pair)]
        if created and kind is None:
            what = f"the optimizer makes its state ({', '.join(sorted(set(created)))}) during the step"
            raise SourceError("PF0311", what, hint="run one step eagerly before, or use an MNCore optimizer")

    def collect(self) -> list[tuple[Tensor, Tensor]]:
        """States that hold another tensor now than at the beginning: (original, new). Call at the function's end."""
        for module, attributes in self._modules.items():
            for name, original in attributes["_buffers"].items():
                self._compare(original, module._buffers.get(name))
        for optimizer, states in self._optimizers.values():
            for parameter, entries in states.items():
                for name, original in entries.items():
                    self._compare(original, optimizer.state[parameter].get(name))
        return self.rebound

    def _compare(self, original: Any, present: Any) -> None:
        if isinstance(original, Tensor) and isinstance(present, Tensor) and present is not original:
            self.rebound.append((original, present))

    def _note_module(self, module: torch.nn.Module, _args: Any) -> None:
        if module in self._modules:
            return
        for part in module.modules():
            if part not in self._modules:
                self._modules[part] = {name: _shallow(value) for name, value in part.__dict__.items()}

    def _note_optimizer(self, optimizer: torch.optim.Optimizer, _args: Any, _kwargs: Any) -> None:
        if id(optimizer) not in self._optimizers:
            states = {parameter: dict(entries) for parameter, entries in optimizer.state.items()}
            self._optimizers[id(optimizer)] = optimizer, states
            self._settings.append(make_capturable(optimizer))

    def _restore_module(self, module: torch.nn.Module, attributes: dict[str, Any]) -> None:
        for name in [name for name in module.__dict__ if name not in attributes]:
            del module.__dict__[name]
        for name, before in attributes.items():
            now = module.__dict__.get(name)
            if type(before) in (int, float) and now != before:
                what = f"{type(module).__name__}.{name} changes during the call; its value {before} is frozen"
                warnings.warn(what, CaptureWarning, stacklevel=2)
            if not _restore_contents(now, before):
                module.__dict__[name] = before

    def _restore_optimizer(self, optimizer: torch.optim.Optimizer, states: dict[Any, dict[str, Any]]) -> list[str]:
        """Put the states back; returns the names of those that the step made anew."""
        created = []
        for parameter in list(optimizer.state):
            before = states.get(parameter, {})
            entries = optimizer.state[parameter]
            created += [name for name, value in entries.items() if name not in before and isinstance(value, FakeTensor)]
            entries.clear()
            entries.update(before)
            if parameter not in states:
                del optimizer.state[parameter]
        return created


def _shallow(value: Any) -> Any:
    return type(value)(value) if type(value) in (dict, list) else value


def _restore_contents(now: Any, before: Any) -> bool:
    """Give a dict or list its former elements, keeping its identity; False where that is not possible."""
    if type(now) is not type(before) or type(before) not in (dict, list):
        return False
    now.clear()
    now.update(before) if isinstance(before, dict) else now.extend(before)
    return True
