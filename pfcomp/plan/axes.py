"""Layout planner, part 1: which bits of the chip each axis gets, and the layout of a value that follows.

Element-wise values that meet in one node share an *axis table*: for every axis, counted from the right as ONNX
broadcasting does, the spatial digits it uses. An axis of length 1 drops its digits, which leaves copies, so every
operand lies in the very PE and word where the result is computed and no node needs a relayout.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from pfcomp.layout import Broadcast, Layout, Level, Subaxis, used_bits, with_broadcast

OUTER_LEVELS = (Level.L2B, Level.L1B, Level.MAB)
LEVEL_BITS = {Level.L2B: 3, Level.L1B: 3, Level.MAB: 4, Level.PE: 2, Level.W: 1}
"""Bits per level for 32-bit elements (two in a long word)."""


@dataclass(frozen=True, slots=True)
class AxisDigits:
    """Spatial digits of one axis: `outer` are slower than the axis' address digit, `inner` are faster."""

    outer: tuple[Subaxis, ...] = ()
    inner: tuple[Subaxis, ...] = ()

    @property
    def spread(self) -> int:
        """How many indices of the axis share one address."""
        return prod(d.size for d in self.outer + self.inner)


AxisTable = tuple[AxisDigits, ...]
"""Entry k belongs to axis -1-k."""


def address_extents(shape: tuple[int, ...], table: AxisTable) -> tuple[int, ...]:
    """Size of the address digit of every axis of `shape`, in long words per PE."""
    rank = len(shape)
    return tuple(1 if n == 1 else -(-n // table[rank - 1 - k].spread) for k, n in enumerate(shape))


def address_strides(extents: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides of the address digits, in long words."""
    return tuple(prod(extents[k + 1 :]) for k in range(len(extents)))


def layout_of(shape: tuple[int, ...], table: AxisTable) -> Layout:
    """The layout of a value of `shape` under an axis table: outer digits, address, inner digits; the rest copies.

    An address digit that is no power of two comes before the outer ones: then the places where all layouts of an axis
    are cut are powers of two, and any two of them differ by an exchange of digits only.
    """
    extents = address_extents(shape, table)
    strides = address_strides(extents)
    axes: list[tuple[Subaxis, ...]] = []
    for k, n in enumerate(shape):
        digits = table[len(shape) - 1 - k]
        here = Subaxis(extents[k], Level.ADDR, strides[k])
        even = extents[k] & (extents[k] - 1) == 0
        slower = (*digits.outer, here) if even else (here, *digits.outer)
        axes.append(() if n == 1 else (*slower, *digits.inner))
    return _with_copies(Layout(tuple(axes)))


def _with_copies(layout: Layout) -> Layout:
    """The layout with `B@[...]` for all coordinate bits that no digit uses, for 32-bit elements."""
    named = with_broadcast(layout, (Level.PE, Level.MAB, Level.L1B, Level.L2B))
    word = () if used_bits(layout, Level.W) else (Broadcast(Level.W),)
    return Layout(layout.axes, named.broadcast + word)


def table_of(layout: Layout) -> AxisTable:
    """The axis table that a given layout follows: what stands before and behind the address digit of each axis."""
    table: list[AxisDigits] = []
    for axis in reversed(layout.axes):
        places = [i for i, d in enumerate(axis) if d.level is Level.ADDR]
        split = places[0] if places else len(axis)
        table.append(AxisDigits(axis[:split], axis[split + 1 :]))
    return tuple(table)


def spread_axes(sizes: tuple[int, ...], levels: tuple[Level, ...], *, spread_words: bool) -> AxisTable:
    """Give every bit of `levels` (and of PE and W) to an axis; `sizes[k]` is the length of axis -1-k.

    PE and W go to the innermost axis longer than 1, as a small value's canonical layout wants, or, with
    `spread_words`, to the axis where they save most. An outer bit goes to the axis whose address digit it shrinks
    most, the outermost of equals, so that rows stay together.
    """
    bits: list[list[tuple[Level, int]]] = [[] for _ in sizes]
    spread = [1] * len(sizes)

    def give(level: Level, bit: int, axis: int) -> None:
        bits[axis].append((level, bit))
        spread[axis] *= 2

    inner_axis = next((k for k, n in enumerate(sizes) if n > 1), None)
    if inner_axis is None:
        return tuple(AxisDigits() for _ in sizes)
    for level in (Level.PE, Level.W):
        axis = _best_axis(sizes, spread, 1 << LEVEL_BITS[level], outermost=False) if spread_words else inner_axis
        for bit in reversed(range(LEVEL_BITS[level])):
            give(level, bit, axis)
    for level in OUTER_LEVELS:
        for bit in reversed(range(LEVEL_BITS[level])):
            if level in levels:
                give(level, bit, _best_axis(sizes, spread, 2, outermost=True))
    return tuple(_digits(axis_bits) for axis_bits in bits)


def _best_axis(sizes: tuple[int, ...], spread: list[int], factor: int, *, outermost: bool) -> int:
    """The axis whose number of addresses shrinks most when it gets `factor` more places."""

    def left(k: int) -> float:
        return -(-sizes[k] // (spread[k] * factor)) / -(-sizes[k] // spread[k])

    order = range(len(sizes) - 1, -1, -1) if outermost else range(len(sizes))
    return min(order, key=left)


def _digits(bits: list[tuple[Level, int]]) -> AxisDigits:
    """Merge neighbouring bits of a level into digits and put them in the canonical order, slowest first."""

    def of(level: Level) -> list[Subaxis]:
        mine = [bit for lv, bit in bits if lv is level]
        runs: list[list[int]] = []
        for bit in mine:  # descending
            if runs and runs[-1][-1] == bit + 1:
                runs[-1].append(bit)
            else:
                runs.append([bit])
        return [Subaxis(1 << len(run), level, 1 << run[-1]) for run in runs]

    outer = [d for level in OUTER_LEVELS for d in of(level)]
    return AxisDigits(tuple(outer), (*of(Level.W), *of(Level.PE)))
