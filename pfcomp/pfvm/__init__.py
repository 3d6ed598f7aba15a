"""PFVM: the reference executor of ONNX models, on onnxruntime (imported at first use)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pfcomp.pfvm.executor import PFVM

__all__ = ["PFVM"]


def __getattr__(name: str) -> Any:
    if name != "PFVM":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pfcomp.pfvm.executor import PFVM

    return PFVM
