"""How many threads a chip's L2Bs are spread over."""

from __future__ import annotations

import os

from pfcomp.emulator.rows import TILES
from pfcomp.errors import UsageError

THREADS_VARIABLE = "PFCOMP_EMULATOR_THREADS"
AUTO = "auto"


def usable_cores() -> int:
    """Cores that the system lets this process use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(asked: int | str = AUTO) -> int:
    """Threads from 1 to 8. "auto" means what PFCOMP_EMULATOR_THREADS says, by default one for each usable core.

    Results do not depend on it. Raises UsageError PF0712.
    """
    text, where = str(asked), "threads"
    if text == AUTO:
        text, where = os.environ.get(THREADS_VARIABLE, AUTO), THREADS_VARIABLE
    if text == AUTO:
        return min(usable_cores(), TILES)
    if not (text.isascii() and text.isdecimal()) or int(text) == 0:
        raise UsageError("PF0712", f"{where}={text!r} is neither a number of threads nor {AUTO!r}")
    return min(int(text), TILES)
