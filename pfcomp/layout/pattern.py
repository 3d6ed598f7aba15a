"""How the elements of a chunk travel between array and image.

Elements that stay adjacent move as one *record*. Where the elements of a chunk fill whole lines of the array that lie
far apart, the lines are first brought together in a buffer that fits the processor's cache (or are brought apart last),
because single elements from many distant lines cost a cache miss each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Offsets = NDArray[np.int64]
Words = NDArray[np.unsignedinteger[Any]]
RECORD_BYTES = 64  # a line of the processor's cache
_LEAST_LINE_BYTES = 32  # shorter pieces are as well fetched one by one
_RECORDS = {size: np.dtype((np.void, size)) for size in (4, 8, 16, 32, 64)}


@dataclass(frozen=True, slots=True)
class Gather:
    """`out[i] = source[index[i]]`, counted in records of `run` adjacent elements."""

    index: Offsets
    run: int

    @staticmethod
    def of(index: Offsets, itemsize: int) -> Gather:
        """The gather of single elements `index`, in records as long as possible."""
        run = RECORD_BYTES // itemsize
        while run > 1 and not _in_runs(index, run):
            run //= 2
        return Gather(index[::run] // run, run)

    def take(self, source: Words, out: Words) -> None:
        """Fill `out`; `mode="clip"` lets numpy write straight into it (the indices are in range)."""
        np.take(_records(source, self.run), self.index, out=_records(out, self.run), mode="clip")

    def put(self, source: Words, target: Words) -> None:
        """The reverse: `target[index[i]] = source[i]`."""
        _records(target, self.run)[self.index] = _records(source, self.run)


@dataclass(frozen=True, slots=True)
class Pattern:
    """The elements of a chunk, by array offsets that are relative to the chunk's base.

    `spread` makes the chunk from its `window` of the array: the `span` elements from the base on, or what `lines`
    brings together. `empty` are the positions that hold padding. `back` makes the window from the first copies in the
    chunk; it is None where elements of the window lie in no or in other chunks, then the elements at `first` go to the
    array offsets `targets` one by one (None: all positions).
    """

    size: int
    span: int
    lines: Gather | None
    spread: Gather
    empty: Offsets | None
    back: Gather | None
    first: Offsets | None
    targets: Offsets

    @staticmethod
    def of(index: Offsets, valid: NDArray[np.bool_], own: NDArray[np.bool_], itemsize: int) -> Pattern:
        """From the offset of each position of the chunk (0 where not `valid`); `own` marks first copies."""
        present, inverse = np.unique(index, return_inverse=True)
        direct, lines = Gather.of(index, itemsize), Gather.of(present, itemsize)
        adjacent = len(present) == int(present[-1]) + 1
        gathers = not adjacent and direct.run < lines.run and lines.run * itemsize >= _LEAST_LINE_BYTES
        window = adjacent or gathers
        back = np.full(len(present), -1, dtype=np.int64)
        back[inverse[own]] = np.flatnonzero(own)
        return Pattern(
            size=len(index),
            span=len(present) if window else int(present[-1]) + 1,
            lines=lines if gathers else None,
            spread=Gather.of(inverse, itemsize) if window else direct,
            empty=None if valid.all() else np.flatnonzero(~valid),
            back=Gather.of(back, itemsize) if window and back.min() >= 0 else None,
            first=None if own.all() else np.flatnonzero(own),
            targets=index[own],
        )

    def fill(self, part: Words, source: Words, buffer: Words) -> None:
        """Write the chunk `part`; `source` is the array from the chunk's base on, `buffer` has room for `span`."""
        window = (source if self.lines is None else buffer)[: self.span]
        if self.lines is not None:
            self.lines.take(source, window)
        self.spread.take(window, part)
        if self.empty is not None:
            part[self.empty] = 0

    def collect(self, part: Words, target: Words, buffer: Words) -> None:
        """Write the elements of the chunk `part` into `target`, the array from the chunk's base on."""
        if self.back is None:
            if self.first is None and self.empty is None and self.lines is None:
                self.spread.put(part, target)
            else:
                target[self.targets] = part if self.first is None else part[self.first]
            return
        window = (target if self.lines is None else buffer)[: self.span]
        self.back.take(part, window)
        if self.lines is not None:
            self.lines.put(window, target)


def _in_runs(index: Offsets, run: int) -> bool:
    """Whether the elements come in aligned records of `run` adjacent ones."""
    if len(index) % run:
        return False
    records = index.reshape(-1, run)
    return not np.any(records[:, 0] % run) and bool(np.all(records == records[:, :1] + np.arange(run)))


def _records(words: Words, run: int) -> NDArray[Any]:
    """The elements as records; elements behind the last whole record are left out."""
    if run == 1:
        return words
    return words[: len(words) // run * run].view(_RECORDS[run * words.itemsize])
