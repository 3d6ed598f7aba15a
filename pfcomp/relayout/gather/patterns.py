"""Items that share a vector of T: in every cell they lie equally far from a base of their own.

Regular moves have few such patterns (a digit of the index becomes a coordinate), so that T is loaded seldom.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.relayout.gather.tables import OTHER
from pfcomp.relayout.gather.wanted import ANY
from pfcomp.relayout.spots import Ints

FEWEST = 5
"""Items that make a pattern worth a vector of T of its own."""
MOST_PATTERNS = 32
"""Patterns that items with places that may get anything are compared with."""
SAMPLE = 64
"""Cells that are compared first."""


@dataclass(frozen=True, eq=False, slots=True)
class Pattern:
    """Items (by number) with the word that is added to T for each, and the T of all cells."""

    items: NDArray[np.intp]
    base: Ints
    index: Ints


def find_patterns(chosen: Ints) -> tuple[list[Pattern], NDArray[np.intp]]:
    """The patterns of items, and the items that share none; `chosen` is word, OTHER or ANY by cell and item."""
    count = chosen.shape[1]
    fixed = (chosen == OTHER) | (chosen == ANY)
    base = np.where(fixed, OTHER, chosen).min(axis=0, initial=OTHER).astype(np.int32)
    index = np.where(fixed, chosen, chosen - base)
    group = _fit(index, _grouped(index))
    patterns: list[Pattern] = []
    rest = np.ones(count, np.bool_)
    for first in np.unique(group).tolist():
        items = np.flatnonzero(group == first)
        if len(items) >= FEWEST:
            patterns.append(Pattern(items, base[items], np.maximum(index[:, first], 0)))
            rest[items] = False
    return patterns, np.flatnonzero(rest)


def _grouped(index: Ints) -> NDArray[np.intp]:
    """For each column the first column that equals it."""
    weights = np.random.default_rng(0).integers(1, 1 << 62, len(index), dtype=np.int64)
    keys = (index * weights[:, None]).sum(axis=0)
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    group = first[number]
    alike = (index == index[:, group]).all(axis=0)
    return np.where(alike, group, np.arange(len(group)))


def _fit(index: Ints, group: NDArray[np.intp]) -> NDArray[np.intp]:
    """Let columns with ANY join a group that agrees with them elsewhere, the most general ones last."""
    free = index == ANY
    heads = np.unique(group)
    heads = heads[np.argsort(free[:, heads].sum(axis=0), kind="stable")]
    joined = group.copy()
    full = heads[:MOST_PATTERNS]
    sample = slice(None, None, max(1, len(index) // SAMPLE))
    few, few_free = index[sample], free[sample]
    for head in heads[1:][free[:, heads[1:]].any(axis=0)].tolist():
        likely = ((few[:, [head]] == few[:, full]) | few_free[:, [head]]).all(axis=0)
        for other in full[likely].tolist():
            if other == head:
                break
            if ((index[:, head] == index[:, other]) | free[:, head]).all():
                joined[group == head] = joined[other]
                break
    return joined
