"""Long words and words of the target, and what each cell wants in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.relayout.gather.wanted import ANY, KEEP
from pfcomp.relayout.spots import WORDS, Ints

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False, slots=True)
class Items:
    """Places of `width` words at the word addresses `target`; wanted[cell, item] is a source word, ANY or KEEP."""

    width: int
    target: Ints
    wanted: Ints

    def __len__(self) -> int:
        return len(self.target)

    def take(self, chosen: Flags | NDArray[np.intp]) -> Items:
        """Some of the items."""
        return Items(self.width, self.target[chosen], self.wanted[:, chosen])

    def uniform(self) -> Flags:
        """For each item whether all cells want the same or do not care."""
        return _uniform(self.wanted)

    def common(self) -> Ints:
        """What the cells of uniform items want."""
        return self.wanted.max(axis=0) if self.wanted.size else np.zeros(len(self), np.int32)


def _uniform(wanted: Ints) -> Flags:
    needed = wanted >= 0
    top = wanted.max(axis=0, initial=ANY)
    same: Flags = ((wanted == top) | (wanted == ANY)).all(axis=0) & needed.any(axis=0)
    return same


def long_words(words: Ints) -> tuple[Items, Items]:
    """Items of whole long words where every cell wants a whole one, and items of single words for the rest.

    `words` is (cells, address, word) as `source_words` returns it. Items that nobody wants are left out.
    """
    high, low = words[..., 0], words[..., 1]
    straight = np.logical_and.reduce(_straight(high, low), axis=0)
    needed = np.logical_or.reduce(words >= 0, axis=0)
    whole = np.flatnonzero(straight & needed.any(axis=-1))
    both = np.where(high >= 0, high, np.where(low >= 0, low - 1, np.minimum(high, low)))[:, whole]
    single = np.flatnonzero((~straight.reshape(-1, 1) & needed).reshape(-1))
    flat = words.reshape(len(words), -1)
    return (
        Items(WORDS, (WORDS * whole).astype(np.int32), both),
        Items(1, single.astype(np.int32), flat[:, single]),
    )


def _straight(high: Ints, low: Ints) -> Flags:
    """Where both words come from the same long word in order; a word to be kept goes with nothing that is needed."""
    one_kept = (high == KEEP) != (low == KEEP)
    pair = (high < 0) | (low < 0) | (low == high + 1)
    odd = ((high >= 0) & (high % WORDS == 1)) | ((low >= 0) & (low % WORDS == 0))
    straight: Flags = pair & ~odd & ~(one_kept & ((high >= 0) | (low >= 0)))
    return straight
