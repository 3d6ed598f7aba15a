"""Parser of layout texts: a recursive-descent reader over a token list, errors with the column.

Grammar (mlsdk.md 4.3); blanks may stand between any two tokens, a missing stride is 1, no level means Addr:

    pad    := "PadLayout" "{" shape "/" layout "}"  |  shape "/" layout
    shape  := "(" [number ("," number)*] ")"
    layout := "(" [axis ("," axis)*] [";" "B" "@" "[" [copy ("," copy)*] "]"] ")"
    axis   := "(" [digit ("," digit)*] ")"
    digit  := number ["_" level] [":" number]
    copy   := level  |  number "_" level [":" number]
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from pfcomp.errors import SourceError
from pfcomp.layout.model import Broadcast, Layout, Level, PadLayout, Subaxis

MAX_NUMBER = (1 << 31) - 1
"""Largest size or stride that is accepted; far above every extent, far below the range of int64."""

_TOKEN = re.compile(r"[0-9]+|[A-Za-z][A-Za-z0-9]*|[^\s]")
_LEVELS = {str(level): level for level in Level}
_Item = TypeVar("_Item")


class _Reader:
    """The tokens of one text and how far they have been read."""

    def __init__(self, text: str) -> None:
        self.tokens = [(match.group(), match.start()) for match in _TOKEN.finditer(text)]
        self.tokens.append(("", len(text)))
        self.next = 0

    def peek(self) -> str:
        return self.tokens[self.next][0]

    def fail(self, expected: str) -> SourceError:
        token, start = self.tokens[self.next]
        found = f"found {token[:20]!r}" if token else "the text ends"
        return SourceError("PF0201", f"expected {expected} but {found}", where=f"layout text, column {start + 1}")

    def accept(self, token: str) -> bool:
        if self.peek() != token:
            return False
        self.next += 1
        return True

    def expect(self, token: str) -> None:
        if not self.accept(token):
            raise self.fail(f"{token!r}" if token else "the end")

    def at_number(self) -> bool:
        return self.peek()[:1].isascii() and self.peek()[:1].isdigit()

    def number(self) -> int:
        token = self.peek()
        if not self.at_number():
            raise self.fail("a number")
        if len(token) > 10 or int(token) > MAX_NUMBER:
            raise self.fail(f"a number up to {MAX_NUMBER}")
        self.next += 1
        return int(token)

    def level(self) -> Level:
        level = _LEVELS.get(self.peek())
        if level is None:
            raise self.fail(f"a level ({', '.join(_LEVELS)})")
        self.next += 1
        return level

    def items(self, closing: str, item: Callable[[], _Item]) -> tuple[_Item, ...]:
        """A list of items separated by commas, possibly empty, up to but without `closing`."""
        found: list[_Item] = []
        while self.peek() != closing:
            if found:
                self.expect(",")
            found.append(item())
        return tuple(found)


def _subaxis(reader: _Reader) -> Subaxis:
    size = reader.number()
    level = reader.level() if reader.accept("_") else Level.ADDR
    return Subaxis(size, level, reader.number() if reader.accept(":") else 1)


def _broadcast(reader: _Reader) -> Broadcast:
    if not reader.at_number():
        return Broadcast(reader.level())
    size = reader.number()
    reader.expect("_")
    level = reader.level()
    return Broadcast(level, size, reader.number() if reader.accept(":") else 1)


def _axis(reader: _Reader) -> tuple[Subaxis, ...]:
    reader.expect("(")
    subaxes = reader.items(")", lambda: _subaxis(reader))
    reader.expect(")")
    return subaxes


def _layout(reader: _Reader) -> Layout:
    reader.expect("(")
    axes: list[tuple[Subaxis, ...]] = []
    while reader.peek() not in (")", ";"):
        if axes:
            reader.expect(",")
        axes.append(_axis(reader))
    broadcast: tuple[Broadcast, ...] = ()
    if reader.accept(";"):
        for token in ("B", "@", "["):
            reader.expect(token)
        broadcast = reader.items("]", lambda: _broadcast(reader))
        reader.expect("]")
    reader.expect(")")
    return Layout(tuple(axes), broadcast)


def _shape(reader: _Reader) -> tuple[int, ...]:
    reader.expect("(")
    shape = reader.items(")", reader.number)
    reader.expect(")")
    return shape


def parse_layout(text: str) -> Layout:
    """The layout that `text` describes; raises SourceError PF0201 with the column of the first mistake."""
    reader = _Reader(text)
    layout = _layout(reader)
    reader.expect("")
    return layout


def parse_pad_layout(text: str) -> PadLayout:
    """The shape and layout of `PadLayout{(3,4)/(...)}` or `(3,4)/(...)`; raises SourceError PF0201."""
    reader = _Reader(text)
    braces = reader.accept("PadLayout")
    if braces:
        reader.expect("{")
    shape = _shape(reader)
    reader.expect("/")
    layout = _layout(reader)
    if braces:
        reader.expect("}")
    reader.expect("")
    return PadLayout(shape, layout)
