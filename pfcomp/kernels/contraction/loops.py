"""From layouts to loops: which addresses one MAB multiplies with each other, and where its results go.

All MABs do the same at the same addresses, so it is enough to know the indices that lie in the first MAB: those whose
coordinates of L2B, L1B and MAB are zero. Everything is read off the layouts, digit order and strides included.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from pfcomp.kernels.contraction.modes import Mode
from pfcomp.layout.extents import digits_of
from pfcomp.layout.model import Layout, Level, Subaxis
from pfcomp.layout.places import axis_coordinates

GRID = (Level.L2B, Level.L1B, Level.MAB)


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a long word of a result lies, relative to the MAB that computes it."""

    addr: int = 0
    mab: int = 0
    l1b: int = 0

    def __add__(self, other: Spot) -> Spot:
        return Spot(self.addr + other.addr, self.mab + other.mab, self.l1b + other.l1b)


@dataclass(frozen=True, slots=True)
class Tile:
    """The addresses of a tile's rows in the stationary operand, and the spot of the tile."""

    rows: tuple[int, ...]
    spot: Spot


@dataclass(frozen=True, slots=True)
class Column:
    """The address of a vector in the streamed operand, and its spot."""

    address: int
    spot: Spot


@dataclass(frozen=True, slots=True)
class Chunk:
    """What a chunk of the reduced axis adds to the addresses of both operands."""

    stationary: int
    streamed: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What a batch index that both operands have adds to their addresses and to the spot."""

    stationary: int
    streamed: int
    spot: Spot


Offsets = tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Loops:
    """The work of one MAB.

    `pair` is the spot of the second long word of a wide result. `offsets` has for each operand (stationary, streamed)
    that is turned what the reduced indices of a chunk add to its address, None for others. `over_mab` tells whether the
    reduced axis is spread over all MABs, `over_l2b` over all L2Bs; `over_l1b` has the bits of the L1B coordinate that
    it is spread over.
    """

    batches: tuple[Batch, ...]
    tiles: tuple[Tile, ...]
    columns: tuple[Column, ...]
    chunks: tuple[Chunk, ...]
    pair: Spot
    offsets: tuple[Offsets, Offsets]
    over_mab: bool
    over_l1b: int
    over_l2b: bool


@dataclass(frozen=True, slots=True)
class Operands:
    """Layouts by role. `row_axis` is 0 if the result's rows (second last axis) come from the stationary operand.

    `turned` tells by role which operand has a tile of its own axis, not of the reduced one, in PEs and words.
    """

    stationary: Layout
    streamed: Layout
    result: Layout
    row_axis: int
    turned: tuple[bool, bool] = (False, False)

    @property
    def rows(self) -> tuple[Subaxis, ...]:
        """Digits of the stationary operand's own axis."""
        return self.stationary.axes[-2 + self.row_axis]

    @property
    def columns(self) -> tuple[Subaxis, ...]:
        """Digits of the streamed operand's own axis."""
        return self.streamed.axes[-1 - self.row_axis]

    @property
    def depths(self) -> tuple[tuple[Subaxis, ...], tuple[Subaxis, ...]]:
        """Digits of the reduced axis in the stationary and in the streamed operand."""
        return self.stationary.axes[-1 - self.row_axis], self.streamed.axes[-2 + self.row_axis]

    @property
    def result_rows(self) -> tuple[Subaxis, ...]:
        return self.result.axes[-2 + self.row_axis]

    @property
    def result_columns(self) -> tuple[Subaxis, ...]:
        return self.result.axes[-1 - self.row_axis]

    def batch_axes(self) -> Iterable[tuple[tuple[Subaxis, ...], tuple[Subaxis, ...], tuple[Subaxis, ...]]]:
        """For each batch axis of the result: digits in stationary, streamed (empty where repeated) and result."""
        dims = len(self.result.axes) - 2
        sides = [_padded_front(layout.axes[:-2], dims) for layout in (self.stationary, self.streamed)]
        return zip(*sides, self.result.axes[:-2], strict=True)


def _padded_front(axes: tuple[tuple[Subaxis, ...], ...], dims: int) -> tuple[tuple[Subaxis, ...], ...]:
    return ((),) * (dims - len(axes)) + axes


class Coordinates:
    """The coordinates of all indices of an axis; indices beyond its padded length count as the last one."""

    def __init__(self, digits: tuple[Subaxis, ...], count: int | None = None) -> None:
        self.size = prod(sub.size for sub in digits)
        self.count = max(self.size, count or 0)
        found = axis_coordinates(digits, self.size)
        self._found = {
            level: np.concatenate([values, np.repeat(values[-1:], self.count - self.size)])
            for level, values in found.items()
        }

    def at(self, level: Level) -> NDArray[np.int64]:
        """The coordinate of every index."""
        return self._found.get(level, np.zeros(self.count, dtype=np.int64))

    def local(self, *more: Level) -> NDArray[np.bool_]:
        """Which indices lie in the first MAB (and at coordinate 0 of the levels `more`)."""
        inside = np.ones(self.count, dtype=np.bool_)
        for level in (*GRID, *more):
            inside &= self.at(level) == 0
        return inside

    def address(self, index: int) -> int:
        return int(self.at(Level.ADDR)[index])

    def spot(self, index: int) -> Spot:
        return Spot(self.address(index), int(self.at(Level.MAB)[index]), int(self.at(Level.L1B)[index]))


def loops_of(operands: Operands, mode: Mode) -> Loops:
    """The loops of a contraction."""
    batches = [Batch(0, 0, Spot())]
    tiles = _tiles(operands, mode)
    columns = _columns(operands)
    for stationary, streamed, result in operands.batch_axes():
        steps = _batch_axis(stationary, streamed, result)
        if not _repeated(stationary) and not _repeated(streamed):
            batches = [_joint(b, s) for b, s in product(batches, steps)]
        elif _repeated(stationary):
            columns = [Column(s.streamed + c.address, s.spot + c.spot) for s, c in product(steps, columns)]
        else:
            tiles = [Tile(tuple(s.stationary + r for r in t.rows), s.spot + t.spot) for s, t in product(steps, tiles)]
    depth = Layout((operands.depths[0],))
    chunks, offsets = (
        _turned_chunks(operands, mode) if any(operands.turned) else (_chunks(operands, mode), (None, None))
    )
    over_l1b = sum((sub.size - 1) * sub.stride for sub in digits_of(depth, Level.L1B))
    return Loops(
        tuple(batches), tuple(tiles), tuple(columns), tuple(chunks), _pair(operands, mode), offsets,
        bool(digits_of(depth, Level.MAB)), over_l1b, bool(digits_of(depth, Level.L2B)),
    )  # fmt: skip


def _repeated(digits: tuple[Subaxis, ...]) -> bool:
    return prod(sub.size for sub in digits) == 1


def _joint(batch: Batch, step: Batch) -> Batch:
    return Batch(
        batch.stationary + step.stationary, batch.streamed + step.streamed, batch.spot + step.spot
    )  # fmt: skip


def _batch_axis(
    stationary: tuple[Subaxis, ...], streamed: tuple[Subaxis, ...], result: tuple[Subaxis, ...]
) -> list[Batch]:
    place = Coordinates(result)
    sides = [Coordinates(digits, place.count) for digits in (stationary, streamed)]
    local = sides[0].local() & sides[1].local()
    return [Batch(sides[0].address(i), sides[1].address(i), place.spot(i)) for i in map(int, np.flatnonzero(local))]


def _tiles(operands: Operands, mode: Mode) -> list[Tile]:
    place = Coordinates(operands.result_rows)
    source = Coordinates(operands.rows, place.count)
    bases = np.flatnonzero(source.local() & (np.arange(source.count) % mode.rows == 0))
    rows = range(mode.rows)
    return [Tile(tuple(source.address(b + r) for r in rows), place.spot(b)) for b in map(int, bases)]


def _columns(operands: Operands) -> list[Column]:
    source = Coordinates(operands.columns)
    place = Coordinates(operands.result_columns, source.count)
    return [Column(source.address(i), place.spot(i)) for i in map(int, np.flatnonzero(source.local()))]


def _chunks(operands: Operands, mode: Mode) -> list[Chunk]:
    first, second = (Coordinates(digits) for digits in operands.depths)
    found = [
        Chunk(first.address(i), second.address(i)) for i in map(int, np.flatnonzero(first.local(Level.PE, Level.W)))
    ]
    if not mode.paired:
        return found
    even = [c for c in found if c.stationary % 2 == 0 and c.streamed % 2 == 0]
    odd = [Chunk(c.stationary + 1, c.streamed + 1) for c in even]
    if sorted(map(_addresses, even + odd)) != sorted(map(_addresses, found)):
        raise ValueError("paired chunks need a digit of the reduced axis at address stride 1 in both operands")
    return even


def _turned_chunks(operands: Operands, mode: Mode) -> tuple[list[Chunk], tuple[Offsets, Offsets]]:
    """The chunks where operands are turned: the other one says which reduced indices go together, in which order."""
    axes = [Coordinates(digits) for digits in operands.depths]
    local = np.flatnonzero(axes[0].local() & axes[1].local())
    for axis, turned in zip(axes, operands.turned, strict=True):
        if not turned:
            keys = [axis.at(level)[local] for level in (Level.W, Level.PE, Level.ADDR)]
            local = local[np.lexsort(keys)]
    groups = local.reshape(-1, mode.depth)
    at = [axis.at(Level.ADDR)[groups] for axis in axes]
    offsets = [found - found[:, :1] for found in at]
    if any((found != found[0]).any() for found in offsets):
        raise ValueError("the reduced indices of a chunk lie at different distances in different chunks")
    chunks = [Chunk(int(first), int(second)) for first, second in zip(at[0][:, 0], at[1][:, 0], strict=True)]
    known = [tuple(map(int, x[0])) if turned else None for x, turned in zip(offsets, operands.turned, strict=True)]
    return chunks, (known[0], known[1])


def _addresses(chunk: Chunk) -> tuple[int, int]:
    return chunk.stationary, chunk.streamed


def _pair(operands: Operands, mode: Mode) -> Spot:
    return Coordinates(operands.result_rows).spot(2) if mode.wide else Spot()
