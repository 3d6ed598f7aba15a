"""What is wrong with assembly text: one `Problem` for each bad line, collected into one `AsmError`."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from pfcomp.errors import SourceError


class Trouble(Exception):
    """Internal signal of the parser: `what` is wrong at `token`; the line driver turns it into a `Problem`."""

    def __init__(self, what: str, token: str = "") -> None:
        super().__init__(what)
        self.what, self.token = what, token


@dataclass(frozen=True, slots=True)
class Problem:
    """A bad line: its number (from 1), the column of the bad token (from 1; 0 unknown) and what is wrong."""

    line: int
    column: int
    text: str

    def describe(self, name: str) -> str:
        """`name:line:column: text`, without the column where it is unknown."""
        column = f":{self.column}" if self.column else ""
        return f"{name}:{self.line}{column}: {self.text}"


class AsmError(SourceError):
    """Assembly text with bad lines; `problems` lists all of them in order."""

    def __init__(self, name: str, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        count = f"{len(problems)} bad line" + ("s" if len(problems) > 1 else "")
        listing = "\n".join(p.describe(name) for p in problems)
        super().__init__("PF0101", f"{count} of assembly\n{listing}")


@lru_cache(maxsize=512)
def nearest(word: str, known: tuple[str, ...]) -> str:
    """`; did you mean ...?` with up to three similar words, or an empty string."""
    if len(word) > 24:
        return ""
    found = get_close_matches(word, known, n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(found)}?" if found else ""
