"""Emulated boards: one program at a time on a board, among all processes of the user (design.md 9).

A board is a file `board<index>.lock` in the user's state folder; see `pfcomp.runtime.locks`.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import platformdirs

from pfcomp.errors import DeviceError, UsageError
from pfcomp.runtime.devices import board_name
from pfcomp.runtime.locks import STATE_VARIABLE, BoardLock

WAIT_VARIABLE = "PFCOMP_BOARD_WAIT"
DEFAULT_WAIT_SECONDS = 600.0
_POLL_SECONDS = (0.001, 0.05)  # first and longest pause between two tries


def state_folder() -> Path:
    """Folder of the boards' files, made if missing. Raises DeviceError PF0604 if that is impossible."""
    given = os.environ.get(STATE_VARIABLE)
    folder = Path(given) if given else platformdirs.user_state_path("pfcomp")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        hint = f"set {STATE_VARIABLE} to a writable folder"
        raise DeviceError(
            "PF0604", f"cannot make the boards' folder: {error.strerror}", where=str(folder), hint=hint
        ) from error
    return folder


def wait_limit() -> float:
    """Seconds to wait for a busy board: environment variable PFCOMP_BOARD_WAIT, default 600."""
    text = os.environ.get(WAIT_VARIABLE)
    if text is None:
        return DEFAULT_WAIT_SECONDS
    with suppress(ValueError):
        if 0 <= float(text) < float("inf"):
            return float(text)
    raise UsageError("PF0602", f"{WAIT_VARIABLE}={text!r} is not a number of seconds")


class _Locks:
    """The process's lock objects by the folder's variable and index, and whether the notice was printed."""

    def __init__(self) -> None:
        self.by_place: dict[tuple[str | None, int], BoardLock] = {}
        self.told = False

    def get(self, index: int) -> BoardLock:
        place = (os.environ.get(STATE_VARIABLE), index)
        if place not in self.by_place:
            self.by_place.setdefault(place, BoardLock(state_folder() / f"board{index}.lock"))
        return self.by_place[place]

    def after_fork(self) -> None:
        for lock in self.by_place.values():
            lock.forget()


_LOCKS = _Locks()
os.register_at_fork(after_in_child=_LOCKS.after_fork)


def board_lock(index: int) -> BoardLock:
    """The lock of board `index`."""
    return _LOCKS.get(index)


def announce(index: int) -> None:
    """Say on stderr, once per process, that the board is emulated."""
    if not _LOCKS.told:
        _LOCKS.told = True
        print(f"pfcomp: no MN-Core 2 hardware; board {index} ({board_name(index)}) is emulated", file=sys.stderr)


@contextmanager
def acquired(indices: Sequence[int], seconds: float | None = None) -> Iterator[int]:
    """Hold any one of the boards `indices`, waiting at most `seconds` (default: `wait_limit()`) for one to be free.

    Yields the index of the board. Raises DeviceError PF0605 naming the holders when the time is over.
    """
    locks = {index: board_lock(index) for index in indices}
    index = _wait_for_any(locks, wait_limit() if seconds is None else seconds)
    try:
        yield index
    finally:
        locks[index].release()


@contextmanager
def held_now(indices: Sequence[int]) -> Iterator[bool]:
    """Hold any one of the boards `indices` if one is free at this moment; yields whether it does."""
    lock = next((lock for lock in map(board_lock, indices) if lock.try_acquire()), None)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            lock.release()


def _wait_for_any(locks: dict[int, BoardLock], seconds: float) -> int:
    deadline = time.monotonic() + seconds
    pause, longest = _POLL_SECONDS
    while True:
        for index, lock in locks.items():
            if lock.try_acquire():
                return index
        left = deadline - time.monotonic()
        if left <= 0:
            raise _busy(locks, seconds)
        time.sleep(min(pause, left))
        pause = min(2 * pause, longest)


def _busy(locks: dict[int, BoardLock], seconds: float) -> DeviceError:
    parts = []
    for index, lock in locks.items():
        parts.append(f"board {index} is held by {lock.holder() or 'an unknown process'}")
    hint = f"end the holder, wait longer ({WAIT_VARIABLE}) or free the board with `gpfn3-smi reset --force`"
    return DeviceError("PF0605", f"no board after waiting {seconds:g} s: {', '.join(parts)}", hint=hint)
