"""Layout values: how the digits of each axis index are spread over the levels of the chip (design.md 4).

A layout maps a tensor index to a place. Each axis index is split into digits, the last subaxis fastest; every digit
times its stride is added to the coordinate of the subaxis' level. A coordinate bit that no digit uses holds copies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Level(StrEnum):
    """A coordinate of a place, by the name that layout texts use."""

    L2B = "L2B"
    L1B = "L1B"
    MAB = "MAB"
    PE = "PE"
    W = "W"
    ADDR = "Addr"
    TIME = "Time"

    @property
    def extent(self) -> int:
        """How many coordinates the level has at most (W: for 16-bit elements; Addr: long words of a group's DRAM)."""
        return LEVEL_EXTENTS[self]


LEVEL_EXTENTS: dict[Level, int] = {
    Level.L2B: 8,
    Level.L1B: 8,
    Level.MAB: 16,
    Level.PE: 4,
    Level.W: 4,
    Level.ADDR: 1 << 29,
    Level.TIME: 1 << 29,
}

SPATIAL_LEVELS: tuple[Level, ...] = (Level.L2B, Level.L1B, Level.MAB, Level.PE, Level.W)
"""Levels whose unused coordinate bits hold copies, outermost first; all their extents are powers of two."""


@dataclass(frozen=True, slots=True)
class Subaxis:
    """One digit of an axis index: it takes `size` values and adds value * `stride` to the coordinate of `level`."""

    size: int
    level: Level = Level.ADDR
    stride: int = 1

    def __str__(self) -> str:
        suffix = "" if self.level is Level.ADDR else f"_{self.level}"
        return f"{self.size}{suffix}:{self.stride}"


@dataclass(frozen=True, slots=True)
class Broadcast:
    """An explicit statement that `level` holds copies: all of it, or `size` copies that are `stride` apart."""

    level: Level
    size: int | None = None
    stride: int = 1

    def __str__(self) -> str:
        return str(self.level) if self.size is None else f"{self.size}_{self.level}:{self.stride}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Subaxes per axis, slowest first, and the `B@[...]` entries in the order they are written.

    Equality is that of the text; `pfcomp.layout.canonical` compares up to splitting and merging of digits. Planners use
    layouts as keys all the time, so the hash is found once.
    """

    axes: tuple[tuple[Subaxis, ...], ...]
    broadcast: tuple[Broadcast, ...] = ()
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.axes, self.broadcast)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[object, ...]:
        return Layout, (self.axes, self.broadcast)  # other processes hash differently

    @staticmethod
    def parse(text: str) -> Layout:
        """Read `((3:1), (2_W:1, 4_PE:1); B@[MAB])`; raises SourceError PF0201 with the column of a mistake."""
        from pfcomp.layout.text import parse_layout

        return parse_layout(text)

    def __str__(self) -> str:
        axes = ", ".join(f"({', '.join(map(str, axis))})" for axis in self.axes)
        copies = f"; B@[{','.join(map(str, self.broadcast))}]" if self.broadcast else ""
        return f"({axes}{copies})"


@dataclass(frozen=True, slots=True)
class PadLayout:
    """A shape with its layout, as `dump_gpfnapp` prints it; the surplus of the layout's sizes is padding."""

    shape: tuple[int, ...]
    layout: Layout

    @staticmethod
    def parse(text: str) -> PadLayout:
        """Read `PadLayout{(3,4)/(...)}` or the bare `(3,4)/(...)`; raises SourceError PF0201."""
        from pfcomp.layout.text import parse_pad_layout

        return parse_pad_layout(text)

    def __str__(self) -> str:
        return f"PadLayout{{({','.join(map(str, self.shape))})/{self.layout}}}"
