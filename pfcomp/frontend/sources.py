"""Which line of the user's code is running: the innermost Python frame outside torch and this project."""

from __future__ import annotations

import functools
import os
import sys
from types import FrameType, TracebackType

import torch

_OURS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_INTERNAL = (
    os.path.dirname(os.path.abspath(torch.__file__)) + os.sep,
    *(os.path.join(_OURS, package) + os.sep for package in ("pfcomp", "mlsdk", "fx2onnx")),
    os.path.dirname(os.__file__) + os.sep + "contextlib.py",
    "<frozen ",
)


@functools.lru_cache(maxsize=4096)
def _is_user_file(filename: str) -> bool:
    return not filename.startswith(_INTERNAL)


def current_source() -> str:
    """`file.py:12` (file name only) of the innermost user frame on this thread's stack, or ""."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if _is_user_file(frame.f_code.co_filename):
            return _label(frame, frame.f_lineno)
        frame = frame.f_back
    return ""


def error_source(error: BaseException) -> str:
    """`file.py:12` of the innermost user frame that an exception passed through, or ""."""
    found = ""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        if _is_user_file(trace.tb_frame.f_code.co_filename):
            found = _label(trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found


def optimizer_of(error: BaseException) -> str:
    """`torch.optim.Adagrad` if an exception passed through the step of an optimizer of torch, else ""."""
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        owner = trace.tb_frame.f_locals.get("self")
        if isinstance(owner, torch.optim.Optimizer) and trace.tb_frame.f_code.co_name == "step":
            return f"torch.optim.{type(owner).__name__}"
        trace = trace.tb_next
    return ""


def function_source(function: object) -> str:
    """`file.py:12` of the definition of a Python function, or "" for other callables."""
    code = getattr(function, "__code__", None)
    return "" if code is None else f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"


def _label(frame: FrameType, line: int) -> str:
    return f"{os.path.basename(frame.f_code.co_filename)}:{line}"
