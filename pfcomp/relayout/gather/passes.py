"""Divides items over windows of source units and finds the T tables of each window (backend-movement.md 5.1, 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.gather.items import Items
from pfcomp.relayout.gather.patterns import find_patterns
from pfcomp.relayout.gather.tables import CYCLES, FIELD_BITS, FIELDS, OTHER, pack_vectors
from pfcomp.relayout.gather.wanted import ANY, WORDS, Ints, Longs

FEW_WINDOWS, MOST_TABLE = 32, 256
"""With more windows than this, tables of windows may not be longer (long words in each PE)."""
TAG_LOADS = 2


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


@dataclass(frozen=True, eq=False, slots=True)
class Passes:
    """The windows in order, and the contents of the table: uint64 by cell and address."""

    passes: tuple[Pass, ...]
    table: NDArray[np.uint64] | None
    loads: int


@dataclass(frozen=True, eq=False, slots=True)
class _Part:
    """Items with the window and the word in it for every cell; window -1 where nothing is needed.

    shown[window, item] tells where an item is wanted from that window by anybody.
    """

    items: Items
    window: Ints
    slot: Ints
    shown: NDArray[np.bool_]


def plan_passes(parts: Sequence[Items], grain: Grain, window: int, *, tagged: bool) -> Passes:
    """The windows for all items, and their table in the form that is smaller or good enough.

    `window` is the most that a window holds, in long words; `tagged` takes the table that is in proportion to the items
    however many windows there are.
    """
    parts = [part for part in parts if len(part)]
    if not parts:
        return Passes((), None, 0)
    blocks = _blocks(parts, len(grain.places), grain.contiguous)
    most = window // len(grain.places)
    windows = [blocks[start : start + most] for start in range(0, len(blocks), most)]
    placed = [_placed(part, grain, blocks, most) for part in parts]
    vectors = sum(int(np.ceil(part.shown.sum(axis=1) / CYCLES).sum()) for part in placed)
    if tagged or (len(windows) > FEW_WINDOWS and vectors * CYCLES > FIELDS * MOST_TABLE):
        return _tagged(placed, windows)
    return _listed(placed, windows) or _tagged(placed, windows)


def _listed(parts: Sequence[_Part], windows: Sequence[Ints]) -> Passes | None:
    """Every window has its own vectors of T; None if these are more than a local memory can hold."""
    vectors: list[Ints] = []
    passes = []
    for number, blocks in enumerate(windows):
        gathers: list[Gather] = []
        for part in parts:
            columns = np.flatnonzero(part.shown[number])
            here = part.window[:, columns] == number
            wrong = ~here & (part.items.wanted[:, columns] != ANY)
            chosen = np.where(here, part.slot[:, columns], np.where(wrong, OTHER, ANY)).astype(np.int32)
            gathers.extend(_gathers(part.items.width, part.items.target[columns], chosen, vectors))
        if CYCLES * len(vectors) > FIELDS * LM_WORDS:
            return None
        passes.append(Pass(tuple(blocks.tolist()), tuple(gathers)))
    return Passes(tuple(passes), pack_vectors(vectors) if vectors else None, len(vectors))


def _tagged(parts: Sequence[_Part], windows: Sequence[Ints]) -> Passes:
    """One table for all windows: a long word for each item, with the number of its window above the index."""
    gathers: list[list[Gather]] = [[] for _ in windows]
    entries: list[Longs] = []
    for part in parts:
        entry = np.where(part.window >= 0, part.window.astype(np.int64) << FIELD_BITS | part.slot, -1)
        for columns in _fours(np.arange(len(part.items))):
            target = tuple(part.items.target[columns].tolist())
            for number in np.flatnonzero(part.shown[:, columns].any(axis=1)).tolist():
                gathers[number].append(Gather(part.items.width, target, (0,), len(entries), True, number))
            entries.append(entry[:, _filled(columns)])
    passes = tuple(Pass(tuple(blocks.tolist()), tuple(some)) for blocks, some in zip(windows, gathers, strict=True))
    table = np.concatenate(entries, axis=1).astype(np.uint64)
    return Passes(passes, table, TAG_LOADS * sum(map(len, gathers)))


def _blocks(parts: Sequence[Items], size: int, contiguous: bool) -> Ints:
    needed = [np.unique(part.wanted[part.wanted >= 0] // (WORDS * size)) for part in parts]
    blocks = np.unique(np.concatenate(needed))
    return np.arange(blocks[0], blocks[-1] + 1, dtype=np.int32) if contiguous else blocks


def _placed(items: Items, grain: Grain, blocks: Ints, most: int) -> _Part:
    size = len(grain.places)
    unit = items.wanted >> 1
    window, position = np.divmod(np.searchsorted(blocks, unit // size).astype(np.int32), np.int32(most))
    window = np.where(items.wanted >= 0, window, -1)
    slot = WORDS * (position * size + np.array(grain.places, np.int32)[unit % size]) + items.wanted % WORDS
    shown = np.zeros((-(-len(blocks) // most), len(items)), np.bool_)
    cells, columns = np.nonzero(window >= 0)
    shown[window[cells, columns], columns] = True
    return _Part(items, window, slot.astype(np.int32), shown)


def _gathers(width: int, target: Ints, chosen: Ints, vectors: list[Ints]) -> Iterator[Gather]:
    """Vectors of four items of one window; `chosen` are words in the window, OTHER or ANY by cell and item."""
    patterns, rest = find_patterns(chosen)
    for pattern in patterns:
        table, masked = -1, bool((pattern.index == OTHER).any())
        if pattern.index.any():
            table = len(vectors)
            vectors.append(np.repeat(pattern.index[:, None], CYCLES, axis=1))
        for part in _fours(np.arange(len(pattern.items))):
            targets = target[pattern.items[part]].tolist()
            yield Gather(width, tuple(targets), tuple(pattern.base[part].tolist()), table, masked)
    masked_items = (chosen[:, rest] == OTHER).any(axis=0)
    for group in (rest[~masked_items], rest[masked_items]):
        for columns in _fours(group):
            vectors.append(np.maximum(chosen[:, _filled(columns)], 0))
            masked = bool((chosen[:, columns[0]] == OTHER).any())
            yield Gather(width, tuple(target[columns].tolist()), (0,), len(vectors) - 1, masked)


def _fours(columns: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    for start in range(0, len(columns), CYCLES):
        yield columns[start : start + CYCLES]


def _filled(columns: NDArray[np.intp]) -> NDArray[np.intp]:
    """Four columns; a short list repeats its last one."""
    return columns[np.minimum(np.arange(CYCLES), len(columns) - 1)]
