"""Front end: capture of Python functions over tensors, and their export to ONNX.

The names below are imported on first use, because torch takes about a second.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pfcomp.frontend.exporter import export
    from pfcomp.frontend.graph import CapturedGraph
    from pfcomp.frontend.storage import load, save
    from pfcomp.frontend.tracer import capture

_HOMES = {"capture": "tracer", "CapturedGraph": "graph", "export": "exporter", "load": "storage", "save": "storage"}

__all__ = ["CapturedGraph", "capture", "export", "load", "save"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
