"""Names and values of the rows of PE memory, as traces print them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from pfcomp.emulator.rows import BAR_ROW, MASK_ROW, MATRIX_ROW, MATRIX_ROWS, MEMORIES, ROWS, T_ROW
from pfcomp.isa.model import CYCLES, Place

MASK_ENTRIES = 16


class Area(NamedTuple):
    """Rows `first`..`first + rows` of `State.mem`: what a row is called by its offset, and how a value reads."""

    first: int
    rows: int
    label: Callable[[int], str]
    value: Callable[[int], str]


def long_word(word: int) -> str:
    """A long word as `0x` and 16 digits."""
    return f"0x{word:016x}"


def _nibble(word: int) -> str:
    """A mask nibble, of which every bit fills a half-word."""
    return f"0x{sum((word >> 16 * bit & 1) << bit for bit in range(4)):x}"


def _mask_label(offset: int) -> str:
    return f"OMR{offset // CYCLES}[{offset % CYCLES}]"


def _plain(name: str, unit: int = 1) -> Callable[[int], str]:
    return lambda offset: f"{name}[{unit * offset}]"


def _bar(place: Place) -> Area:
    return Area(BAR_ROW[place], 1, lambda _: place.name, lambda word: f"0x{word:03x}")


AREAS: tuple[Area, ...] = (
    *(Area(m.base, m.words // 2, _plain(place.name, 2), long_word) for place, m in MEMORIES.items()),
    Area(T_ROW, CYCLES, _plain("T"), long_word),
    Area(T_ROW + CYCLES, CYCLES, _plain("T.LW1"), long_word),
    Area(MASK_ROW, MASK_ENTRIES * CYCLES, _mask_label, _nibble),
    *(Area(row, MATRIX_ROWS, _plain(place.name), long_word) for place, row in MATRIX_ROW.items()),
    _bar(Place.BAR0),
    _bar(Place.BAR1),
)


@lru_cache(maxsize=ROWS)
def area_of(row: int) -> Area | None:
    """The area of a row, None for constants and scratch, which no program can name."""
    return next((area for area in AREAS if area.first <= row < area.first + area.rows), None)
