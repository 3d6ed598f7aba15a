"""Divides items over windows of source units and finds the T tables of each window (backend-movement.md 5.1, 5.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.relayout.gather.items import Items
from pfcomp.relayout.gather.tables import CYCLES, OTHER
from pfcomp.relayout.gather.wanted import ANY, WORDS, Ints

WINDOW = 512
"""Long words of the largest window."""


@dataclass(frozen=True, slots=True)
class Straight:
    """A place of `width` words at word address `target` that all cells fill with `source`, 2·unit + word."""

    width: int
    target: int
    source: int


@dataclass(frozen=True, slots=True)
class Gather:
    """Up to four places of `width` words at word addresses `target`, taken from the window.

    `source` are word addresses in the window if they are the same everywhere; else `table` is the number of the vector
    of T, and `masked` tells whether some places must not be written.
    """

    width: int
    target: tuple[int, ...]
    source: tuple[int, ...] = ()
    table: int = -1
    masked: bool = False


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


def plan_passes(parts: Sequence[Items], grain: Grain) -> tuple[tuple[Pass, ...], list[Ints]]:
    """The windows for all items, and the vectors of T that they refer to."""
    parts = [part for part in parts if len(part)]
    vectors: list[Ints] = []
    if not parts:
        return (), vectors
    size = len(grain.places)
    blocks = _blocks(parts, size, grain.contiguous)
    most = WINDOW // size
    passes = []
    placed = [_placed(part, grain, blocks, most) for part in parts]
    shown = [_windows_of(window, -(-len(blocks) // most)) for window, _ in placed]
    for number in range(-(-len(blocks) // most)):
        gathers: list[Gather] = []
        for part, (window, slot), used in zip(parts, placed, shown, strict=True):
            columns = np.flatnonzero(used[number])
            here = window[:, columns] == number
            wrong = ~here & (part.wanted[:, columns] != ANY)
            chosen = np.where(here, slot[:, columns], np.where(wrong, OTHER, ANY)).astype(np.int32)
            gathers.extend(_gathers(part.width, part.target[columns], chosen, vectors))
        if gathers:
            passes.append(Pass(tuple(blocks[number * most : (number + 1) * most].tolist()), tuple(gathers)))
    return tuple(passes), vectors


def _blocks(parts: Sequence[Items], size: int, contiguous: bool) -> Ints:
    needed = [np.unique(part.wanted[part.wanted >= 0] // (WORDS * size)) for part in parts]
    blocks = np.unique(np.concatenate(needed))
    return np.arange(blocks[0], blocks[-1] + 1, dtype=np.int32) if contiguous else blocks


def _placed(items: Items, grain: Grain, blocks: Ints, most: int) -> tuple[Ints, Ints]:
    """For every cell and item the number of the window and the word in it; window -1 where nothing is needed."""
    size = len(grain.places)
    unit = items.wanted >> 1
    window, position = np.divmod(np.searchsorted(blocks, unit // size).astype(np.int32), np.int32(most))
    slot = position * size + np.array(grain.places, np.int32)[unit % size]
    return np.where(items.wanted >= 0, window, -1), WORDS * slot + items.wanted % WORDS


def _windows_of(window: Ints, count: int) -> NDArray[np.bool_]:
    """used[window, item]"""
    used = np.zeros((count, window.shape[1]), np.bool_)
    cells, items = np.nonzero(window >= 0)
    used[window[cells, items], items] = True
    return used


def _gathers(width: int, target: Ints, chosen: Ints, vectors: list[Ints]) -> Iterator[Gather]:
    """Vectors of four items of one window; `chosen` are words in the window, OTHER or ANY by cell and item."""
    top = chosen.max(axis=0, initial=ANY)
    uniform = ((chosen == top) | (chosen == ANY)).all(axis=0)
    masked = (chosen == OTHER).any(axis=0)
    for columns in _fours(np.flatnonzero(uniform & ~masked)):
        yield Gather(width, tuple(target[columns].tolist()), tuple(top[columns].tolist()))
    for group in (~uniform & ~masked, masked):
        for columns in _fours(np.flatnonzero(group)):
            picked = columns[np.minimum(np.arange(CYCLES), len(columns) - 1)]
            vectors.append(np.maximum(chosen[:, picked], 0))
            yield Gather(
                width, tuple(target[columns].tolist()), table=len(vectors) - 1, masked=bool(masked[columns[0]])
            )


def _fours(columns: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    for start in range(0, len(columns), CYCLES):
        yield columns[start : start + CYCLES]
