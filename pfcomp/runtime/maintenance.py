"""What `gpfn3-smi` does to the boards: break locks, choose what fresh memory holds (mlsdk.md 5)."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pfcomp.artifacts import atomic_write
from pfcomp.errors import DeviceError, UsageError
from pfcomp.runtime.boards import acquired, board_lock, state_folder
from pfcomp.runtime.devices import board_name, find_board


@dataclass(frozen=True, slots=True)
class Fill:
    """Contents of DRAM that no program has written: one 64-bit `pattern`, or random long words of a `seed`."""

    pattern: int = 0
    seed: int | None = None

    @property
    def wanted(self) -> bool:
        """False for zeros, which fresh memory holds anyway."""
        return self.pattern != 0 or self.seed is not None

    def image(self, groups: int, size: int) -> NDArray[np.uint64]:
        """(groups, size) long words."""
        if self.seed is None:
            return np.full((groups, size), self.pattern, np.uint64)
        return np.random.default_rng(self.seed).integers(0, 2**64, (groups, size), dtype=np.uint64)


def reset_board(text: str, force: bool) -> str:
    """Free the board that `text` names and say what was done. Raises DeviceError PF0605 if in use and not `force`."""
    index = find_board(text)
    lock = board_lock(index)
    if lock.try_acquire():
        lock.release()
        return f"{index}: {board_name(index)} is free"
    holder = lock.holder()
    if not force:
        hint = "wait for it, end it, or add --force"
        raise DeviceError("PF0605", f"board {index} is in use by {holder or 'an unknown process'}", hint=hint)
    lock.break_lock()
    return f"{index}: {board_name(index)} was taken from {holder or 'an unknown process'}"


def clear_board(text: str, pattern: str, seed: int | None) -> str:
    """Record what the DRAM of the board holds for programs that start later, and say so."""
    index = find_board(text)
    fill = Fill(_pattern(pattern), seed)
    with acquired((index,)):
        atomic_write(_fill_file(index), json.dumps(asdict(fill)).encode())
    contents = f"0x{fill.pattern:x}" if seed is None else f"random numbers of seed {seed}"
    return f"{index}: {board_name(index)} is filled with {contents}"


def board_fill(index: int) -> Fill:
    """What the last `clear` of the board asked for."""
    with suppress(OSError, ValueError, TypeError):
        return Fill(**json.loads(_fill_file(index).read_text(encoding="utf-8")))
    return Fill()


def _fill_file(index: int) -> Path:
    return state_folder() / f"board{index}.fill.json"


def _pattern(text: str) -> int:
    with suppress(ValueError):
        if 0 <= int(text, 0) < 2**64:
            return int(text, 0)
    raise UsageError("PF0618", f"pattern {text!r} is not a number of 64 bits", hint="write 255 or 0xff")
