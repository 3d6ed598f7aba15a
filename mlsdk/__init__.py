"""The Python interface that programs written for the vendor's MLSDK use: compile functions, run them, share tensors.

Names and behaviour follow mlsdk.md sections 1 and 5; docs/runtime.md describes what is emulated.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from mlsdk import storage
from mlsdk.automap import register_pytree_dataclass, register_pytree_namedtuple
from mlsdk.cache_options import CacheOptions
from mlsdk.context import Context
from mlsdk.device import MNDevice
from mlsdk.function import CompiledFunction, TensorLike
from mlsdk.profile import trace_event, trace_scope
from mlsdk.proxy import TensorProxy
from mlsdk.storage import path as path
from pfcomp.frontend.names import (
    get_tensor_name,
    set_buffer_name_in_optimizer,
    set_tensor_name,
    set_tensor_name_in_module,
)
from pfcomp.runtime.iospec import IOSpec as IOSpec

_OPTIMIZERS = ("MNCoreAdam", "MNCoreAdamW", "MNCoreLRScheduler", "MNCoreOptimizer", "MNCoreSGD")

__all__ = [  # mlsdk.md 1.1
    "CacheOptions",
    "CompiledFunction",
    "Context",
    "MNCoreAdam",
    "MNCoreAdamW",
    "MNCoreLRScheduler",
    "MNCoreOptimizer",
    "MNCoreSGD",
    "MNDevice",
    "TensorLike",
    "TensorProxy",
    "get_tensor_name",
    "register_pytree_dataclass",
    "register_pytree_namedtuple",
    "set_buffer_name_in_optimizer",
    "set_tensor_name",
    "set_tensor_name_in_module",
    "storage",
    "trace_event",
    "trace_scope",
]


def __getattr__(name: str) -> Any:
    """The optimizers, imported when a program asks for one."""
    if name in _OPTIMIZERS:
        return getattr(import_module("pfcomp.frontend.optim"), name)
    raise AttributeError(f"module 'mlsdk' has no attribute {name!r}")
