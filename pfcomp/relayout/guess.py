"""A quick guess at the steps of a relayout, from the levels that it crosses; the layout planner asks it very often.

The figures are those of backend-movement.md 0: exchanges inside a PE, a MAB and an L1B cost a fraction of a step per
long word, above that every long word passes L2BM in rows of 64, and between L2Bs the PDM.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from pfcomp.layout.digits import changes, exchange, refine
from pfcomp.layout.extents import extent, padded_shape
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form

PER_WORD: dict[Level, float] = {Level.ADDR: 0.25, Level.W: 0.5, Level.PE: 0.5, Level.MAB: 1.0}
"""Steps per long word and PE where the level is the outermost one that is crossed."""
SET_UP: dict[Level, int] = {Level.ADDR: 3, Level.W: 4, Level.PE: 8, Level.MAB: 30, Level.L1B: 40, Level.L2B: 60}
"""Steps of latency and of tables."""
OUTWARDS = (Level.L2B, Level.L1B, Level.MAB, Level.PE, Level.W, Level.ADDR)
ROW = 64
NO_EXCHANGE = 4
"""How much dearer gathering by tables is than exchanging digits."""


@lru_cache(maxsize=1 << 15)
def relay_guess(source: Form, target: Form) -> int:
    """About how many steps bringing `source` into the layout of `target` takes."""
    words = max(extent(source.layout, Level.ADDR), extent(target.layout, Level.ADDR))
    digits = refine(source.layout, target.layout)
    if digits is None:
        return NO_EXCHANGE * _crossing(source, target, words, _outermost(source, target))
    crossed = {slot.level for row in changes(exchange(digits)) for slot in (row.source, row.target) if slot is not None}
    outermost = next((level for level in OUTWARDS if level in crossed), Level.ADDR)
    return _crossing(source, target, words, outermost)


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
