"""torch's own optimizers in the form that a trace can follow.

Their plain form reads the step counter as a Python number; the *capturable* one keeps it a tensor, but torch allows it
on accelerators only. For the time of a trace every optimizer is capturable and works parameter by parameter.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

_SETTINGS: dict[str, Any] = {"capturable": True, "foreach": False, "fused": False}
_DEVICES = "_get_capturable_supported_devices"


def make_capturable(optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    """Change the settings of an optimizer's groups; the result puts everything back. A group keeps its set of keys."""
    kept = [{key: group[key] for key in _SETTINGS if key in group} for group in optimizer.param_groups]
    for group, settings in zip(optimizer.param_groups, kept, strict=True):
        group.update({key: _SETTINGS[key] for key in settings})
    allowed = [(module, getattr(module, _DEVICES)) for module in _modules(optimizer)]
    for module, _ in allowed:
        setattr(module, _DEVICES, _with_cpu)

    def restore() -> None:
        for group, settings in zip(optimizer.param_groups, kept, strict=True):
            group.update(settings)
        for module, function in allowed:
            setattr(module, _DEVICES, function)

    return restore


def _modules(optimizer: torch.optim.Optimizer) -> list[ModuleType]:
    """The modules of torch that hold the optimizer's code and ask for the allowed devices."""
    names = dict.fromkeys(kind.__module__ for kind in type(optimizer).__mro__)
    modules = (sys.modules[name] for name in names if name.startswith("torch.optim."))
    return [module for module in modules if getattr(module, _DEVICES, _with_cpu) is not _with_cpu]


def _with_cpu(supports_xla: bool = True) -> list[str]:
    return ["cpu"]
