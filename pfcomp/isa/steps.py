"""Text of PE lines to `Step` (isa.md 5.1): operations, nop, noforward and wait, separated by `;`."""

from __future__ import annotations

import re
from functools import lru_cache

from .model import Op, Step
from .opcodes import parse_operation
from .operands import number
from .problems import Trouble

_NOP = re.compile(r"nop(?:/([0-9]{1,10}))?\Z")
_TAG = re.compile(r"i([0-9a-fA-F]{2})\Z")


@lru_cache(maxsize=1 << 16)
def operation(text: str) -> Op:
    """One operation without `;`."""
    return parse_operation(text.split())


def parse_tag(text: str) -> int:
    """`i` and two hex digits to 1..255; raises `Trouble` for anything else."""
    match = _TAG.match(text)
    if match is None:
        raise Trouble(f"{text!r} is not a tag; write i and two hex digits, i01 to iff", text)
    if match[1] == "00":
        raise Trouble("tag i00 is not allowed; tags are i01 to iff", text)
    return int(match[1], 16)


class _Parts:
    """What has been seen on a line so far."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.waits: list[int] = []
        self.repeat = 0  # 0: no nop seen
        self.noforward = False

    def add(self, text: str) -> None:
        tokens = text.split()
        head = tokens[0]
        if head == "wait":
            if len(tokens) != 2:
                raise Trouble("wait takes one tag, as in wait i01", head)
            self.waits.append(parse_tag(tokens[1]))
        elif head in ("nop", "noforward") or head.startswith("nop/"):
            self._add_control(head, tokens)
        else:
            self.ops.append(operation(text))

    def _add_control(self, head: str, tokens: list[str]) -> None:
        if len(tokens) > 1:
            raise Trouble(f"{head} takes no operands, found {tokens[1]!r}", tokens[1])
        if head == "noforward":
            if self.noforward:
                raise Trouble("noforward stands twice on one line", head)
            self.noforward = True
            return
        if self.repeat:
            raise Trouble("nop stands twice on one line; nop/N makes N nops", head)
        match = _NOP.match(head)
        self.repeat = number(match[1] or "1") if match else 0
        if self.repeat < 1:
            raise Trouble(f"{head!r} is not a nop; write nop or nop/N with N of at least 1", head)


@lru_cache(maxsize=1 << 15)
def step(text: str) -> Step | None:
    """A whole PE line; None if it holds nothing but `;`. Raises `Trouble`."""
    parts = _Parts()
    for piece in text.split(";"):
        stripped = piece.strip()
        if stripped:
            parts.add(stripped)
    if parts.repeat and (parts.ops or parts.noforward):
        raise Trouble("nop may share its line with wait only", "nop")
    if parts.waits and not (parts.repeat or parts.ops or parts.noforward):
        raise Trouble("wait may not stand alone; write nop; wait i01", "wait")
    if not (parts.repeat or parts.ops or parts.noforward):
        return None
    return Step(tuple(parts.ops), tuple(parts.waits), parts.noforward, parts.repeat or 1)
