"""A quick guess at the steps of a relayout, from the levels that it crosses; the layout planner asks it very often.

The figures are those of backend-movement.md 0: exchanges inside a PE, a MAB and an L1B cost a fraction of a step per
long word, above that every long word passes L2BM in rows of 64, and between L2Bs the PDM.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

import numpy as np

from pfcomp.layout import Layout
from pfcomp.layout.digits import Slot
from pfcomp.layout.extents import extent, padded_shape, used_bits
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form
from pfcomp.relayout.moves.rows import Row, exchange_of
from pfcomp.relayout.spots import MASK, SHIFT, Longs, sampled_spots

PER_WORD: dict[Level, float] = {Level.ADDR: 0.25, Level.W: 0.5, Level.PE: 0.5, Level.MAB: 1.0}
"""Steps per long word and PE where the level is the outermost one that is crossed."""
SET_UP: dict[Level, int] = {Level.ADDR: 3, Level.W: 4, Level.PE: 8, Level.MAB: 30, Level.L1B: 40, Level.L2B: 80}
"""Steps of latency and of tables."""
OUTWARDS = (Level.L2B, Level.L1B, Level.MAB, Level.PE, Level.W, Level.ADDR)
VECTOR = 4
SELECT = 8
"""Steps beside one for each vector where every PE only keeps a part of what it holds."""
UNITED, UNITE = 5, 8
"""Long words that a step brings to every PE where MABs unite their parts; other steps."""
GATHER = 12
"""Steps from L1BM through L2BM and back, where L1Bs bring together what they held apart."""
ROW = 64
BETWEEN_L2BS = 26
"""Long words of the whole value that a step moves between L2Bs, with half the time of MVs."""
NO_EXCHANGE = 2
"""How much dearer gathering by tables is than exchanging digits where nothing leaves a MAB."""
BROADCAST, WINDOW, CROSS = 8, 512, 32
"""Long words that every PE of a level sees in a step, those from which it gathers at a time, those that an MV moves."""
ROUTED = 2000
"""Steps from which on a route replaces a gather (`planner.py`)."""
ROUTE = {Level.L1B: 20, Level.L2B: 9}
"""Steps of a route per long word and PE; between L2Bs those of the exchange come on top."""


@lru_cache(maxsize=1 << 15)
def relay_guess(source: Form, target: Form) -> int:
    """About how many steps bringing `source` into the layout of `target` takes."""
    words = max(extent(source.layout, Level.ADDR), extent(target.layout, Level.ADDR))
    exchange = exchange_of(source.layout, target.layout)
    if exchange is None:
        return _gathered(source, target, words)
    changed = [row for row in exchange.rows if row.source != row.target]
    words_apart = [row for row in changed if _leaves_words(row)]
    if all(_selects(source.layout, row) for row in changed if row not in words_apart):
        return extent(target.layout, Level.ADDR) // VECTOR * (3 if words_apart else 1) + SELECT
    if all(_unites(target.layout, row) for row in changed):
        return extent(target.layout, Level.ADDR) // UNITED + UNITE
    if not used_bits(source.layout, Level.MAB) and all(_unites(target.layout, row, Level.L1B) for row in changed):
        return 2 * _words_below(source, Level.L1B) // ROW + words // VECTOR + GATHER
    crossed = {slot.level for row in changed for slot in _sent(source.layout, row)}
    outermost = next((level for level in OUTWARDS if level in crossed), Level.ADDR)
    return _crossing(source, words, outermost)


def rearrange_guess(source: Form, target: Form, places: Longs, elements: Longs) -> int:
    """About how many steps a rearrangement takes that brings these `elements` of the source to `places`, among others.

    Both are flat; a few thousand of them are enough.
    """
    words = max(extent(source.layout, Level.ADDR), extent(target.layout, Level.ADDR))
    moved = sampled_spots(source, elements) ^ sampled_spots(target, places)
    changed = int(np.bitwise_or.reduce(moved, initial=0))
    for level in OUTWARDS[:-1]:
        bits = changed >> SHIFT[level] & MASK[level]
        if bits & (1 if level is Level.W else used_bits(source.layout, level)):
            return _shown(source, target, words, level)
    return NO_EXCHANGE * _crossing(source, words, Level.ADDR)


def _sent(source: Layout, row: Row) -> Iterator[Slot]:
    """The places that a digit leaves, or takes from others: where copies lie it only has to be selected."""
    if row.source is not None and row.target is not None:
        yield row.source
        if row.target.level is Level.W or _bits(row.target, row.size) & used_bits(source, row.target.level):
            yield row.target


def _selects(source: Layout, row: Row) -> bool:
    """Addresses move within a PE, or to the coordinates of a level above words that hold copies: nothing is sent."""
    if row.source is None or row.target is None or row.source.level is not Level.ADDR:
        return False
    level = row.target.level
    return level is Level.ADDR or (level is not Level.W and not _bits(row.target, row.size) & used_bits(source, level))


def _leaves_words(row: Row) -> bool:
    """The words of a long word go to addresses of their own."""
    if row.source is None or row.target is None:
        return False
    return (row.source.level, row.target.level) == (Level.W, Level.ADDR)


def _unites(target: Layout, row: Row, among: Level = Level.MAB) -> bool:
    """Addresses move within a PE, or MABs (L1Bs) bring together what they held apart."""
    if row.source is None or row.target is None or row.target.level is not Level.ADDR:
        return False
    level = row.source.level
    return level is Level.ADDR or (level is among and not _bits(row.source, row.size) & used_bits(target, among))


def _bits(slot: Slot, size: int) -> int:
    """The coordinate bits of a digit of `size`."""
    return (size - 1) * slot.stride


def _gathered(source: Form, target: Form, words: int) -> int:
    """Steps where digits do not match: everything is shown to every PE, or goes over a route if that is faster."""
    return _shown(source, target, words, _outermost(source.layout, target.layout))


def _shown(source: Form, target: Form, words: int, level: Level) -> int:
    """Steps of gathering or a route if `level` is the outermost one that is crossed."""
    if level not in (Level.L2B, Level.L1B, Level.MAB):
        return NO_EXCHANGE * _crossing(source, words, level)
    scope = _words_below(source, level)
    gather = scope // BROADCAST + scope * extent(target.layout, Level.ADDR) // (2 * WINDOW) + SET_UP[level]
    gather += scope // CROSS if level is Level.L2B else 0
    if level is Level.MAB or gather < ROUTED:
        return gather
    return min(gather, ROUTE[level] * words + (scope // BETWEEN_L2BS if level is Level.L2B else 0))


def _words_below(source: Form, level: Level) -> int:
    """Long words that the PEs of one `level` hold together."""
    above = {Level.L2B: 1, Level.L1B: extent(source.layout, Level.L2B)}
    if level in above:
        return prod(padded_shape(source.layout)) * source.bits // 64 // above[level]
    inside = extent(source.layout, Level.MAB) * extent(source.layout, Level.PE)
    return extent(source.layout, Level.ADDR) * inside


def _outermost(source: Layout, target: Layout) -> Level:
    """The outermost level that is crossed: any that the source uses on an axis whose digits do not match, or others."""
    crossed: set[Level] = set()
    for before, after in zip(source.axes, target.axes, strict=True):
        exchange = exchange_of(Layout((before,)), Layout((after,)))
        if exchange is None:
            crossed |= {sub.level for sub in before if sub.size > 1}
        else:
            rows = (row for row in exchange.rows if row.source != row.target)
            crossed |= {slot.level for row in rows for slot in _sent(source, row)}
    return next((level for level in OUTWARDS if level in crossed), Level.ADDR)


def _crossing(source: Form, words: int, level: Level) -> int:
    if level in PER_WORD:
        return int(words * PER_WORD[level]) + SET_UP[level]
    if level is Level.L2B:
        return _words_below(source, level) // BETWEEN_L2BS + words // 2 + SET_UP[level]
    return _words_below(source, level) // ROW + words + SET_UP[level]
