"""Device strings: which are accepted, what they mean, and one-line advice for the ones that are not (mlsdk.md 1.2)."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum

from pfcomp.errors import DeviceError, UsageError


class DeviceKind(StrEnum):
    """Who executes: a shared emulated board, an emulator private to the process, or onnxruntime on the host."""

    BOARD = "mncore2"
    PRIVATE = "emu2"
    PFVM = "pfvm"


@dataclass(frozen=True, slots=True)
class Device:
    """A parsed device string. `index` is a board or GPU number, None for `auto`; `provider` is PFVM's."""

    text: str
    kind: DeviceKind
    index: int | None = None
    provider: str = ""


ACCEPTED = "mncore2:auto, mncore2:<index>, emu2, pfvm:cpu, pfvm:cuda, pfvm:cuda:<index>"

# (pattern of an accepted string, kind, provider)
PATTERNS: tuple[tuple[re.Pattern[str], DeviceKind, str], ...] = (
    (re.compile(r"mncore2:auto"), DeviceKind.BOARD, ""),
    (re.compile(r"mncore2:(?P<index>\d{1,4})"), DeviceKind.BOARD, ""),
    (re.compile(r"emu2"), DeviceKind.PRIVATE, ""),
    (re.compile(r"pfvm:cpu"), DeviceKind.PFVM, "cpu"),
    (re.compile(r"pfvm:cuda(:(?P<index>\d{1,4}))?"), DeviceKind.PFVM, "cuda"),
)

# (pattern of a string that is near to an accepted one, what is wrong, what would work)
NEAR_MISSES: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (re.compile(r"emu2:.*"), "the emulator of a process has no index", "write `emu2`"),
    (re.compile(r"mncore2:-\d+"), "a board index is not negative", "write `mncore2:auto` or `mncore2:0`"),
    (re.compile(r"mncore2:.+"), "boards are given by index, not by name", "see `gpfn3-smi list`, then `mncore2:0`"),
    (re.compile(r"mncore2:?"), "it does not say which board", "write `mncore2:auto`"),
    (re.compile(r"pfvm:mncore2.*"), "PFVM runs on the host", "write `mncore2:auto` for a board or `pfvm:cpu`"),
    (re.compile(r"pfvm:gpu.*"), "PFVM calls the GPU cuda", "write `pfvm:cuda`"),
    (re.compile(r"pfvm.*"), "PFVM runs on cpu or cuda", "write `pfvm:cpu`"),
    (re.compile(r"(cpu|cuda)(:\d+)?"), "it names a device of torch", "write `pfvm:cpu` or `pfvm:cuda`"),
)

BOARDS_VARIABLE = "PFCOMP_BOARDS"
MAXIMUM_BOARDS = 64


def parse_device(text: str) -> Device:
    """The device that `text` names. Raises UsageError PF0601 with what would work."""
    for pattern, kind, provider in PATTERNS:
        match = pattern.fullmatch(text)
        if match:
            index = match.groupdict().get("index")
            return Device(text, kind, None if index is None else int(index), provider)
    for pattern, what, advice in NEAR_MISSES:
        if pattern.fullmatch(text):
            raise UsageError("PF0601", f"device {text!r}: {what}", hint=advice)
    raise UsageError("PF0601", f"device {text!r} is not known", hint=f"use one of {ACCEPTED}")


def board_count() -> int:
    """How many emulated boards this computer has: environment variable PFCOMP_BOARDS, default 1."""
    text = os.environ.get(BOARDS_VARIABLE, "1")
    if not text.isdecimal() or not 1 <= int(text) <= MAXIMUM_BOARDS:
        raise UsageError("PF0602", f"{BOARDS_VARIABLE}={text!r} is not a number of boards from 1 to {MAXIMUM_BOARDS}")
    return int(text)


def board_name(index: int) -> str:
    """Name under which `gpfn3-smi` lists an emulated board."""
    return f"mnc2emu{index}"


def candidate_boards(device: Device) -> tuple[int, ...]:
    """Indices of the boards on which a program of `device` may run. Raises DeviceError PF0603 if there is none."""
    count = board_count()
    if device.index is None:
        return tuple(range(count))
    if device.index >= count:
        hint = f"use an index below {count} or set {BOARDS_VARIABLE}"
        raise DeviceError("PF0603", f"there is no board {device.index}", hint=hint)
    return (device.index,)


def find_board(text: str) -> int:
    """Index of the board that a user names by index or name. Raises DeviceError PF0603."""
    for index in range(board_count()):
        if text in (str(index), board_name(index)):
            return index
    raise DeviceError("PF0603", f"there is no board {text}", hint="see `gpfn3-smi list`")
