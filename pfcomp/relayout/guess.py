"""A quick guess at the steps of a relayout, from the levels that it crosses; the layout planner asks it very often.

The figures are those of backend-movement.md 0: exchanges inside a PE, a MAB and an L1B cost a fraction of a step per
long word, above that every long word passes L2BM in rows of 64, and between L2Bs the PDM.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import prod

from pfcomp.layout import Layout
from pfcomp.layout.digits import Slot
from pfcomp.layout.extents import extent, padded_shape, used_bits
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form
from pfcomp.relayout.moves.rows import Row, exchange_of

PER_WORD: dict[Level, float] = {Level.ADDR: 0.25, Level.W: 0.5, Level.PE: 0.5, Level.MAB: 1.0}
"""Steps per long word and PE where the level is the outermost one that is crossed."""
SET_UP: dict[Level, int] = {Level.ADDR: 3, Level.W: 4, Level.PE: 8, Level.MAB: 30, Level.L1B: 40, Level.L2B: 150}
"""Steps of latency and of tables."""
OUTWARDS = (Level.L2B, Level.L1B, Level.MAB, Level.PE, Level.W, Level.ADDR)
VECTOR = 4
SELECT = 8
"""Steps beside one for each vector where every PE only keeps a part of what it holds."""
UNITED, UNITE = 5, 8
"""Long words that a step brings to every PE where MABs unite their parts; other steps."""
ROW = 64
NO_EXCHANGE = 4
"""How much dearer gathering by tables is than exchanging digits."""


@lru_cache(maxsize=1 << 15)
def relay_guess(source: Form, target: Form) -> int:
    """About how many steps bringing `source` into the layout of `target` takes."""
    words = max(extent(source.layout, Level.ADDR), extent(target.layout, Level.ADDR))
    exchange = exchange_of(source.layout, target.layout)
    if exchange is None:
        return NO_EXCHANGE * _crossing(source, target, words, _outermost(source, target))
    changed = [row for row in exchange.rows if row.source != row.target]
    words_apart = [row for row in changed if _leaves_words(row)]
    if all(_selects(source.layout, row) for row in changed if row not in words_apart):
        return extent(target.layout, Level.ADDR) // VECTOR * (3 if words_apart else 1) + SELECT
    if all(_unites(target.layout, row) for row in changed):
        return extent(target.layout, Level.ADDR) // UNITED + UNITE
    crossed = {slot.level for row in changed for slot in _sent(source.layout, row)}
    outermost = next((level for level in OUTWARDS if level in crossed), Level.ADDR)
    return _crossing(source, target, words, outermost)


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


def _unites(target: Layout, row: Row) -> bool:
    """Addresses move within a PE, or MABs bring together what they held apart."""
    if row.source is None or row.target is None or row.target.level is not Level.ADDR:
        return False
    level = row.source.level
    return level is Level.ADDR or (
        level is Level.MAB and not _bits(row.source, row.size) & used_bits(target, Level.MAB)
    )


def _bits(slot: Slot, size: int) -> int:
    """The coordinate bits of a digit of `size`."""
    return (size - 1) * slot.stride


def _outermost(source: Form, target: Form) -> Level:
    """The outermost level that either layout uses."""
    used = {sub.level for form in (source, target) for axis in form.layout.axes for sub in axis if sub.size > 1}
    return next((level for level in OUTWARDS if level in used), Level.ADDR)


def _crossing(source: Form, target: Form, words: int, level: Level) -> int:
    if level in PER_WORD:
        return int(words * PER_WORD[level]) + SET_UP[level]
    distinct = prod(padded_shape(source.layout)) * source.bits // 64
    if level is Level.L1B:
        distinct //= max(1, extent(source.layout, Level.L2B))
    return distinct // ROW + words + SET_UP[level]
