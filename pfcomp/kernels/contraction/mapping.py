"""From a way to spread the work to layouts of the operands and the result.

Every axis index is cut into digits, slowest first: L2B, L1B, MAB, addresses, and within a chunk (tile) PEs and words.
A result that comes back scattered over MABs or L1Bs has digits there that the operands have in addresses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from pfcomp.kernels.contraction.modes import Mode
from pfcomp.layout import with_broadcast
from pfcomp.layout.model import Layout, Level, Subaxis

Axis = tuple[Subaxis, ...]

ROWS, COLUMNS, DEPTH = "rows", "columns", "depth"


@dataclass(frozen=True, slots=True)
class Problem:
    """A matrix product by role.

    `batch` has the result's batch axes, `stationary` and `streamed` those of the operands; rows and columns are the
    operands' own axes and depth the reduced one. `row_axis` is 0 if the first operand is the stationary one.
    """

    mode: Mode
    row_axis: int
    batch: tuple[int, ...]
    stationary: tuple[int, ...]
    streamed: tuple[int, ...]
    rows: int
    columns: int
    depth: int

    def dims(self, own: tuple[int, ...]) -> tuple[int, ...]:
        """An operand's batch axes, with ones in front of them."""
        return (1,) * (len(self.batch) - len(own)) + own


@dataclass(frozen=True, slots=True)
class Split:
    """How many ways every level is split among the axes: batch, rows, columns, depth; powers of two.

    What remains of a level holds copies. `scatter` names the levels over which sums come back scattered.
    """

    l2b: tuple[int, int, int, int] = (1, 1, 1, 1)
    l1b: tuple[int, int, int, int] = (1, 1, 1, 1)
    mab: tuple[int, int, int, int] = (1, 1, 1, 1)
    scatter: tuple[Level, ...] = ()

    @property
    def levels(self) -> tuple[tuple[Level, tuple[int, int, int, int]], ...]:
        return (Level.L2B, self.l2b), (Level.L1B, self.l1b), (Level.MAB, self.mab)

    def ways(self, axis: int) -> int:
        """How many ways an axis is split: 0 batch, 1 rows, 2 columns, 3 depth."""
        return self.l2b[axis] * self.l1b[axis] * self.mab[axis]

    def digits(self, axis: int) -> Axis:
        """The digits of an axis on the levels, slowest first; depth takes the lowest coordinates, then columns."""
        return tuple(
            Subaxis(factors[axis], level, prod(factors[axis + 1 :]))
            for level, factors in self.levels
            if factors[axis] > 1
        )


@dataclass(frozen=True, slots=True)
class Sizes:
    """What one MAB does: batch indices, tiles, columns, chunks; and the spread digits of a scattered result."""

    batch: tuple[int, ...]
    tiles: int
    columns: int
    chunks: int
    pair: Subaxis | None
    spread_columns: Axis
    spread_tiles: Axis

    @property
    def tile_addresses(self) -> int:
        """Tiles that have addresses of their own in the result."""
        return self.tiles // prod(sub.size for sub in self.spread_tiles)

    @property
    def column_addresses(self) -> int:
        """Columns that have addresses of their own in the result."""
        return self.columns // prod(sub.size for sub in self.spread_columns)


def sizes_of(problem: Problem, split: Split) -> Sizes:
    """The work of one MAB under a split, padded to whole tiles, chunks and digits."""
    mode = problem.mode
    columns = _ceil(problem.columns, split.ways(2))
    tiles = _ceil(problem.rows, split.ways(1) * mode.rows)
    pair, spread = _spread(mode, split.scatter)
    spread_columns, spread_tiles = _deal(spread, columns)
    columns = _round(columns, prod(sub.size for sub in spread_columns))
    tiles = _round(tiles, prod(sub.size for sub in spread_tiles))
    chunks = _ceil(problem.depth, split.ways(3) * mode.depth)
    return Sizes(
        _batch_sizes(problem, split), tiles, columns, chunks, pair, spread_columns, spread_tiles
    )  # fmt: skip


def _spread(mode: Mode, scatter: tuple[Level, ...]) -> tuple[Subaxis | None, Axis]:
    """The digit of the second long word of a wide result, and the digits to spread, fastest first (see `scatter`)."""
    mabs, l1bs = Level.MAB in scatter, Level.L1B in scatter
    low = Subaxis(2, Level.MAB if mabs else Level.ADDR)
    eights = (Subaxis(8, Level.L1B),) if l1bs else ()
    if not scatter:
        return (Subaxis(2) if mode.wide else None), ()
    high = (Subaxis(8, Level.MAB, 2),) if mabs else ()
    return (low, (*eights, *high)) if mode.wide else (None, (low, *eights, *high))


def _deal(spread: Axis, columns: int) -> tuple[Axis, Axis]:
    """Give spread digits to the columns as long as there are some, at least four in all; the rest to the tiles.

    Both results are slowest first.
    """
    taken: list[Subaxis] = []
    left: list[Subaxis] = []
    wanted = max(4, 1 << (columns - 1).bit_length())
    for sub in spread:
        share = min(sub.size, max(1, wanted // prod(s.size for s in taken))) if not left else 1
        if share > 1:
            taken.append(Subaxis(share, sub.level, sub.stride))
        if share < sub.size:
            left.append(Subaxis(sub.size // share, sub.level, sub.stride * share))
    return tuple(reversed(taken)), tuple(reversed(left))


def _batch_sizes(problem: Problem, split: Split) -> tuple[int, ...]:
    """Local sizes of the batch axes: the digits of the levels go to the first axis that is long enough."""
    ways = split.ways(0)
    axis = batch_axis(problem.batch)
    return tuple(_ceil(size, ways) if number == axis else size for number, size in enumerate(problem.batch))


def batch_axis(batch: Sequence[int]) -> int:
    """The batch axis that is spread over the levels: the longest."""
    return max(range(len(batch)), key=lambda n: (batch[n], -n)) if batch else -1


def layouts_of(problem: Problem, split: Split) -> tuple[tuple[Layout, Layout], Layout]:
    """The layouts of both operands, in the order of the node, and of the result."""
    sizes = sizes_of(problem, split)
    mode = problem.mode
    depth = mode.depth_digits
    low = 2 if mode.paired else 1
    rows = sizes.tiles * mode.rows if split.ways(1) > 1 else problem.rows
    columns = sizes.columns if split.ways(2) > 1 else problem.columns
    stationary = _operand(problem, split, sizes, problem.stationary, (split.digits(1), rows), low, depth)
    streamed = _operand(problem, split, sizes, problem.streamed, (split.digits(2), columns), low, depth)
    if problem.row_axis == 0:
        operands = stationary, Layout((*streamed.axes[:-2], streamed.axes[-1], streamed.axes[-2]))
    else:
        operands = streamed, Layout((*stationary.axes[:-2], stationary.axes[-1], stationary.axes[-2]))
    result = _result(problem, split, sizes)
    return (with_broadcast(operands[0]), with_broadcast(operands[1])), with_broadcast(result)


def _operand(
    problem: Problem, split: Split, sizes: Sizes, batch: tuple[int, ...], own: tuple[Axis, int], low: int, depth: Axis
) -> Layout:
    """An operand with axes (batch, own axis, depth): own indices at neighbouring addresses, then chunks, then batch."""
    spatial, count = own
    outer = split.digits(3)
    inner = (Subaxis(sizes.chunks, stride=low * count),)
    axes = _batch_axes(problem, split, sizes, batch, low * count * sizes.chunks)
    return Layout((*axes, (*spatial, Subaxis(count, stride=low)), (*outer, *inner, *depth)))


def _batch_axes(problem: Problem, split: Split, sizes: Sizes, own: tuple[int, ...], stride: int) -> tuple[Axis, ...]:
    """The batch axes of an operand or result, the last one at the lowest stride."""
    first = len(problem.batch) - len(own)
    axes: list[Axis] = []
    for number in reversed(range(first, len(problem.batch))):
        if own[number - first] == 1 < problem.batch[number]:
            axes.append(())
            continue
        spatial = split.digits(0) if number == batch_axis(problem.batch) else ()
        axes.append((*spatial, Subaxis(sizes.batch[number], stride=stride)))
        stride *= sizes.batch[number]
    return tuple(reversed(axes))


def _result(problem: Problem, split: Split, sizes: Sizes) -> Layout:
    """The result: columns at neighbouring addresses (behind the low spread digit and the pair), then tiles, batch."""
    wide = sizes.pair is not None and sizes.pair.level is Level.ADDR
    low_digit = any(sub.level is Level.ADDR for sub in sizes.spread_columns)
    low = 2 if wide or low_digit else 1
    pair = (sizes.pair,) if sizes.pair else ()
    tile = tuple(sub for digit in problem.mode.row_digits for sub in ((digit,) if digit else pair))
    columns = (*split.digits(2), Subaxis(sizes.column_addresses, stride=low), *sizes.spread_columns)
    stride = low * sizes.column_addresses
    rows = (*split.digits(1), Subaxis(sizes.tile_addresses, stride=stride), *sizes.spread_tiles, *tile)
    batch = _batch_axes(problem, split, sizes, problem.batch, stride * sizes.tile_addresses)
    own = (rows, columns) if problem.row_axis == 0 else (columns, rows)
    return Layout((*batch, *own))


def _ceil(count: int, parts: int) -> int:
    return -(-count // parts)


def _round(count: int, unit: int) -> int:
    return _ceil(count, unit) * unit
