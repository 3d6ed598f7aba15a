"""Divides items over windows of source units and finds the T tables of each window (backend-movement.md 5.1, 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.gather.items import Items
from pfcomp.relayout.gather.patterns import Pattern, find_patterns
from pfcomp.relayout.gather.tables import CYCLES, FIELD_BITS, FIELDS, OTHER, pack_vectors
from pfcomp.relayout.gather.wanted import ANY, KEEP
from pfcomp.relayout.spots import WORDS, Ints, distinct

FEW_WINDOWS, MOST_TABLE = 32, 256
"""With more windows than this, tables of windows may not be longer (long words in each PE)."""
USELESS = 5
"""With more windows than this, patterns are not looked for in all of them if two have none."""
TAG_LOADS = 2
PLACE = (1 << FIELD_BITS) - 1


@dataclass(frozen=True, slots=True)
class Straight:
    """A place of `width` words at word address `target` that all cells fill with `source`, 2·unit + word."""

    width: int
    target: int
    source: int


@dataclass(frozen=True, slots=True)
class Gather:
    """Up to four places of `width` words at word addresses `target`, taken from the window.

    `source` are word addresses in the window. Where `table` is not negative, it is the number of the vector of T that
    is added to them, and `masked` tells whether some places must not be written: those with OTHER in their index or,
    if `tag` is not negative, those with another number in the bits above the index.
    """

    width: int
    target: tuple[int, ...]
    source: tuple[int, ...]
    table: int = -1
    masked: bool = False
    tag: int = -1


@dataclass(frozen=True, slots=True)
class Pass:
    """One window: the blocks of source units in it, in the order of their places, and what is taken from it."""

    blocks: tuple[int, ...]
    gathers: tuple[Gather, ...]


@dataclass(frozen=True, slots=True)
class Grain:
    """A block of source units is what one step brings into a window; unit i of it lies at long word `places[i]`.

    `contiguous`: blocks of a window must follow one another without gaps.
    """

    places: tuple[int, ...]
    contiguous: bool = False


class Kind(Enum):
    """How a table says which word of a window an item takes."""

    SHARED = "vectors of T for each window, shared by the items of a pattern"
    ALONE = "a place in a vector of T for each window and item"
    TAGGED = "a place in a vector of T for each item, with the number of its window"


@dataclass(frozen=True, slots=True)
class Count:
    """What the windows come to: gathers, vectors of T that are loaded, and long words of the table in each PE."""

    gathers: int
    loads: int
    table: int


@dataclass(frozen=True, eq=False, slots=True)
class Passes:
    """The windows in order, and the contents of the table: uint64 by cell and address."""

    passes: tuple[Pass, ...]
    table: NDArray[np.uint64] | None


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """Items with window << FIELD_BITS | word in it for every cell, ANY, or KEEP.

    shown[window, item] tells where an item is wanted from that window by anybody.
    """

    items: Items
    code: Ints
    shown: NDArray[np.bool_]

    @property
    def fours(self) -> int:
        return -(-len(self.items) // CYCLES)

    def alone(self) -> int:
        """Vectors of T, window by window, if no items share one; masked items go together."""
        masked = (self.shown.sum(axis=0) > 1) | (self.code == KEEP).any(axis=0)
        counts = [self.shown[:, chosen].sum(axis=1) for chosen in (masked, ~masked)]
        return int(sum((-(-count // CYCLES)).sum() for count in counts))

    def seen_by(self, number: int) -> tuple[NDArray[np.intp], Ints]:
        """The items that a window shows, and what each cell takes: words in the window, OTHER or ANY."""
        columns = np.flatnonzero(self.shown[number])
        code = self.code if len(columns) == len(self.items) else self.code[:, columns]
        here = code >> FIELD_BITS == number
        if here.all():
            return columns, code & PLACE
        return columns, np.where(here, code & PLACE, np.where(code != ANY, np.int32(OTHER), np.int32(ANY)))


class Division:
    """Items divided over windows of at most `window` long words of the source units in `blocks`."""

    def __init__(self, parts: Sequence[Items], blocks: Ints, grain: Grain, window: int) -> None:
        self.blocks, self.most = blocks, window // len(grain.places)
        self.windows = -(-len(blocks) // self.most)
        slots = _slots(blocks, grain, self.most)
        self.parts = tuple(_placed(part, slots, self.windows) for part in parts if len(part))

    def count(self, *, tagged: bool) -> tuple[Count, Kind]:
        """What the windows come to with the table that is smaller or good enough, and its kind.

        `tagged` asks for the table that is in proportion to the items however many windows there are.
        """
        many = self.windows > FEW_WINDOWS and self._vectors * CYCLES > FIELDS * MOST_TABLE
        found = None if tagged or many else self._count_listed()
        return found or (self._count_tagged(), Kind.TAGGED)

    def passes(self, kind: Kind) -> Passes:
        """The windows and their table."""
        if not self.parts:
            return Passes((), None)
        if kind is Kind.TAGGED:
            gathers, table = _tagged(self.parts, self.windows)
        else:
            gathers, table = _listed(self.parts, self.windows, share=kind is Kind.SHARED)
        starts = range(0, len(self.blocks), self.most)
        windows = [tuple(self.blocks[start : start + self.most].tolist()) for start in starts]
        return Passes(tuple(map(Pass, windows, map(tuple, gathers))), table)

    @cached_property
    def _vectors(self) -> int:
        """Vectors of T if no items share one."""
        return sum(int((-(-part.shown.sum(axis=1) // CYCLES)).sum()) for part in self.parts)

    def _count_tagged(self) -> Count:
        gathers = 0
        for part in self.parts:
            padded = np.zeros((self.windows, CYCLES * part.fours), np.bool_)
            padded[:, : len(part.items)] = part.shown
            gathers += int(padded.reshape(-1, CYCLES).any(axis=1).sum())
        return Count(gathers, TAG_LOADS * gathers, CYCLES * sum(part.fours for part in self.parts))

    def _count_listed(self) -> tuple[Count, Kind] | None:
        """None if the table would be more than a local memory can hold."""
        if self.windows > USELESS and not any(self._shares(number) for number in (0, self.windows // 2)):
            alone = sum(part.alone() for part in self.parts)
            return _listed_count(alone, alone, Kind.ALONE)
        gathers = vectors = 0
        for number in range(self.windows):
            for part in self.parts:
                found = _Found.of(part, number)
                gathers, vectors = gathers + found.gathers, vectors + found.vectors
            if CYCLES * vectors > FIELDS * LM_WORDS:
                return None
        return _listed_count(gathers, vectors, Kind.SHARED)

    def _shares(self, number: int) -> bool:
        """True if a window has patterns."""
        return any(_Found.of(part, number).patterns for part in self.parts)


def _listed_count(gathers: int, vectors: int, kind: Kind) -> tuple[Count, Kind] | None:
    table = CYCLES * -(-vectors // FIELDS)
    return (Count(gathers, vectors, table), kind) if table <= LM_WORDS else None


def blocks_of(parts: Sequence[Items], grain: Grain) -> Ints:
    """The blocks of source units that some item wants, ascending."""
    size = WORDS * len(grain.places)
    needed = [distinct(part.wanted[part.wanted >= 0] // size) for part in parts if len(part)]
    blocks = distinct(np.concatenate([np.zeros(0, np.int32), *needed]))
    if grain.contiguous and len(blocks):
        return np.arange(blocks[0], blocks[-1] + 1, dtype=np.int32)
    return blocks


def _slots(blocks: Ints, grain: Grain, most: int) -> Ints:
    """For every source word its window << FIELD_BITS | word in it."""
    size = len(grain.places)
    window, position = np.divmod(np.arange(len(blocks), dtype=np.int32), np.int32(most))
    first = window << FIELD_BITS | WORDS * size * position
    inner = WORDS * np.array(grain.places, np.int32)[:, None] + np.arange(WORDS, dtype=np.int32)
    slots = np.zeros((int(blocks.max(initial=-1)) + 1, inner.size), np.int32)
    slots[blocks] = first[:, None] + inner.reshape(-1)
    return slots.reshape(-1)


def _placed(items: Items, slots: Ints, windows: int) -> _Part:
    wanted = items.wanted
    code = np.where(wanted >= 0, slots[np.maximum(wanted, 0)], wanted) if wanted.min() < 0 else slots[wanted]
    shown = np.zeros((windows + 1, len(items)), np.bool_)  # ANY and KEEP are shown by a window behind the last
    shown.reshape(-1)[(code >> FIELD_BITS) * len(items) + np.arange(len(items))] = True
    return _Part(items, code, shown[:-1])


@dataclass(frozen=True, eq=False, slots=True)
class _Found:
    """What one window shows of one part: patterns, and items without one; the masked ones among these come last."""

    columns: NDArray[np.intp]
    chosen: Ints
    patterns: Sequence[Pattern]
    rest: tuple[NDArray[np.intp], NDArray[np.intp]]

    @staticmethod
    def of(part: _Part, number: int, *, share: bool = True) -> _Found:
        columns, chosen = part.seen_by(number)
        patterns, rest = find_patterns(chosen) if share else ([], np.arange(len(columns)))
        masked = (chosen[:, rest] == OTHER).any(axis=0)
        return _Found(columns, chosen, patterns, (rest[~masked], rest[masked]))

    @property
    def _alone(self) -> int:
        return sum(-(-len(group) // CYCLES) for group in self.rest)

    @property
    def gathers(self) -> int:
        return self._alone + sum(-(-len(pattern.items) // CYCLES) for pattern in self.patterns)

    @property
    def vectors(self) -> int:
        return self._alone + sum(bool(pattern.index.any()) for pattern in self.patterns)


def _listed(
    parts: Sequence[_Part], windows: int, *, share: bool
) -> tuple[list[list[Gather]], NDArray[np.uint64] | None]:
    """Every window has its own vectors of T."""
    vectors: list[Ints] = []
    gathers: list[list[Gather]] = [[] for _ in range(windows)]
    for number, some in enumerate(gathers):
        for part in parts:
            found = _Found.of(part, number, share=share)
            some.extend(_gathers(part.items.width, part.items.target[found.columns], found, vectors))
    return gathers, pack_vectors(vectors) if vectors else None


def _tagged(parts: Sequence[_Part], windows: int) -> tuple[list[list[Gather]], NDArray[np.uint64] | None]:
    """One table for all windows: a long word for each item, with the number of its window above the index."""
    gathers: list[list[Gather]] = [[] for _ in range(windows)]
    entries: list[Ints] = []
    for part in parts:
        entry = np.maximum(part.code, -1)
        for columns in _fours(np.arange(len(part.items))):
            target = tuple(part.items.target[columns].tolist())
            for number in np.flatnonzero(part.shown[:, columns].any(axis=1)).tolist():
                gathers[number].append(Gather(part.items.width, target, (0,), len(entries), True, number))
            entries.append(entry[:, _filled(columns)])
    return gathers, np.concatenate(entries, axis=1).astype(np.int64).astype(np.uint64)


def _gathers(width: int, target: Ints, found: _Found, vectors: list[Ints]) -> Iterator[Gather]:
    """Vectors of four items of one window."""
    for pattern in found.patterns:
        table, masked = -1, bool((pattern.index == OTHER).any())
        if pattern.index.any():
            table = len(vectors)
            vectors.append(np.repeat(pattern.index[:, None], CYCLES, axis=1))
        for part in _fours(np.arange(len(pattern.items))):
            targets = target[pattern.items[part]].tolist()
            yield Gather(width, tuple(targets), tuple(pattern.base[part].tolist()), table, masked)
    for masked, group in zip((False, True), found.rest, strict=True):
        for columns in _fours(group):
            vectors.append(np.maximum(found.chosen[:, _filled(columns)], 0))
            yield Gather(width, tuple(target[columns].tolist()), (0,), len(vectors) - 1, masked)


def _fours(columns: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    for start in range(0, len(columns), CYCLES):
        yield columns[start : start + CYCLES]


def _filled(columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Four columns; a short list repeats its last one."""
    return columns[np.minimum(np.arange(CYCLES), len(columns) - 1)]
