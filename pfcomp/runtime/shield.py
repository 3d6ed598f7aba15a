"""Work on the main thread that no signal handler may tear apart, such as the Python handler of Ctrl-C."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack
from importlib import import_module
from types import FrameType, TracebackType
from typing import Any

# signals whose handlers raise exceptions in some programs: Ctrl-C, time limits, requests to end
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGVTALRM", "SIGPROF", "SIGUSR1", "SIGUSR2")
SIGNALS = tuple(int(getattr(signal, name)) for name in _NAMES if hasattr(signal, name))
_fast: Any = import_module("_signal")  # the functions of `signal` without its conversions to enums, which cost more


class SignalShield:
    """Context manager: Python handlers of signals that arrive inside the block run at its end instead.

    They may raise there. In threads other than the main one it does nothing, because handlers run in the main one.
    """

    def __enter__(self) -> None:
        self._former: list[tuple[int, Any]] = []
        self._arrived: list[tuple[int, FrameType | None]] = []
        if threading.current_thread() is not threading.main_thread():
            return
        self._former = [(each, handler) for each in SIGNALS if callable(handler := _fast.getsignal(each))]
        for each, _ in self._former:
            _fast.signal(each, self._note)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if not self._former:
            return
        with ExitStack() as stack:  # every handler comes back, whatever the others raise
            for number, frame in reversed(self._arrived):
                stack.callback(dict(self._former)[number], number, frame)
            for each, handler in self._former:
                stack.callback(_fast.signal, each, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._arrived.append((number, frame))
