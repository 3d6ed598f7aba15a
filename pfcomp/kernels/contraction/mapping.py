"""From a way to spread the work to layouts of the operands and the result.

Every axis index is cut into digits. An operand lays its own addresses out in the order own axis, chunks of the reduced
axis, batch (fastest first); the result in the order columns, tiles, batch. A result that comes back scattered over
MABs or L1Bs has digits there that the operands have in addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from pfcomp.kernels.contraction.modes import Mode
from pfcomp.kernels.contraction.problem import Four, Problem, Split
from pfcomp.layout import with_broadcast
from pfcomp.layout.model import Layout, Level, Subaxis

Axis = tuple[Subaxis, ...]
Marked = tuple[Subaxis | None, ...]
"""Digits of an axis, slowest first; None is the pair of neighbouring long words. Strides of addresses do not count."""


@dataclass(frozen=True, slots=True)
class Digits:
    """How the axes are cut, without the digits inside a tile: strides of addresses are given when layouts are made."""

    batch: tuple[Axis, ...]
    rows: Axis
    columns: Axis
    depth: Marked


@dataclass(frozen=True, slots=True)
class Plan:
    """A way to do a product.

    `given` has layouts that the operands (stationary, streamed) must keep, `result` the one in which the result lies
    with these digits at addresses of its own. `turned` says which operands have a tile of their own axis in PEs and
    words, and the reduced axis at addresses there.
    """

    split: Split
    digits: Digits
    given: tuple[Layout | None, Layout | None] = (None, None)
    result: Layout | None = None
    turned: tuple[bool, bool] = (False, False)


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


def plan_of(problem: Problem, split: Split) -> Plan:
    """The plan in which every axis has its digits in the order L2B, L1B, MAB, addresses, tile.

    What is odd in the number of addresses comes before all others, so that axes are cut at powers of two.
    """
    mode = problem.mode
    rows, columns = problem.rows, _ceil(problem.columns, split.ways(2))
    spread = [prod(sub.size for sub in axis) for axis in _spread_of(mode, split, columns)]
    if split.ways(2) > 1:
        columns = _round(columns, spread[0])
    if split.ways(1) > 1:
        rows = _round(_ceil(rows, split.ways(1)), spread[1] * mode.rows)
    chunks = _ceil(problem.depth, split.ways(3) * mode.depth)
    longest = problem.longest_batch
    batch = tuple(
        _behind(split.digits(0), _ceil(size, split.ways(0))) if number == longest else (Subaxis(size),)
        for number, size in enumerate(problem.batch)
    )
    depth = (*_behind(split.digits(3), chunks), *mode.depth_digits)
    digits = Digits(batch, _behind(split.digits(1), rows), _behind(split.digits(2), columns), depth)
    return Plan(split, digits)


def _behind(spread: Axis, count: int) -> Axis:
    """An axis with `count` addresses behind the digits that are spread, their odd factor before them."""
    even = count & -count
    if not spread or even == count:
        return (*spread, Subaxis(count))
    return (Subaxis(count // even), *spread, *((Subaxis(even),) if even > 1 else ()))


def sizes_of(problem: Problem, plan: Plan) -> Sizes:
    """The work of one MAB, padded to whole tiles, chunks and digits."""
    columns = addresses(plan.digits.columns)
    tiles = _ceil(addresses(plan.digits.rows), problem.mode.rows)
    spread_columns, spread_tiles = _spread_of(problem.mode, plan.split, columns)
    return Sizes(
        tuple(map(addresses, plan.digits.batch)),
        _round(tiles, prod(sub.size for sub in spread_tiles)),
        _round(columns, prod(sub.size for sub in spread_columns)),
        addresses(plan.digits.depth),
        _pair(problem.mode, plan.split),
        spread_columns,
        spread_tiles,
    )


def addresses(axis: Marked) -> int:
    """How many addresses the digits take, the pair not counted."""
    return prod(sub.size for sub in axis if sub and sub.level is Level.ADDR)


def _pair(mode: Mode, split: Split) -> Subaxis | None:
    """The digit of the second long word of a wide result."""
    return Subaxis(2, Level.MAB if Level.MAB in split.scatter else Level.ADDR) if mode.wide else None


def _spread_of(mode: Mode, split: Split, columns: int) -> tuple[Axis, Axis]:
    """The digits to spread (see `scatter` for their order), dealt to columns and tiles."""
    if not split.scatter:
        return (), ()
    mabs = Level.MAB in split.scatter
    low = () if mode.wide else (Subaxis(2, Level.MAB if mabs else Level.ADDR),)
    eights = (Subaxis(8, Level.L1B),) if Level.L1B in split.scatter else ()
    high = (Subaxis(8, Level.MAB, 2),) if mabs else ()
    return _deal((*low, *eights, *high), columns)


def _deal(spread: Axis, columns: int) -> tuple[Axis, Axis]:
    """Give spread digits (fastest first) to the columns while there are some, at least four in all; tiles get the rest.

    Both results are slowest first.
    """
    taken: list[Subaxis] = []
    left: list[Subaxis] = []
    wanted = max(4, 1 << (columns - 1).bit_length())
    for sub in spread:
        share = 1 if left else min(sub.size, max(1, wanted // prod(s.size for s in taken)))
        if share > 1:
            taken.append(Subaxis(share, sub.level, sub.stride))
        if share < sub.size:
            left.append(Subaxis(sub.size // share, sub.level, sub.stride * share))
    return tuple(reversed(taken)), tuple(reversed(left))


def layouts_of(problem: Problem, plan: Plan) -> tuple[tuple[Layout, Layout], Layout]:
    """The layouts of both operands, in the order of the node, and of the result."""
    digits = plan.digits
    own = [(digits.rows, digits.depth), (digits.columns, digits.depth)]
    pairs = [_turned(problem.mode, *axes) if turned else axes for axes, turned in zip(own, plan.turned, strict=True)]
    stationary = plan.given[0] or _operand(problem, digits, problem.stationary, pairs[0], problem.row_axis)
    streamed = plan.given[1] or _operand(problem, digits, problem.streamed, pairs[1], 1 - problem.row_axis)
    operands = (stationary, streamed) if problem.row_axis == 0 else (streamed, stationary)
    result = plan.result or _result(problem, digits, sizes_of(problem, plan))
    return (with_broadcast(operands[0]), with_broadcast(operands[1])), with_broadcast(result)


def _turned(mode: Mode, own: Axis, depth: Marked) -> tuple[Axis, Marked]:
    """Both axes of an operand that is turned tile by tile while it is read."""
    first = depth.index(mode.depth_digits[0])
    after = first + len(mode.depth_digits)
    tile = tuple(sub for sub in mode.row_digits if sub)
    return (
        (*own[:-1], Subaxis(_ceil(own[-1].size, mode.rows)), *tile),
        (*depth[:first], Subaxis(mode.depth), *depth[after:]),
    )


def _operand(
    problem: Problem, digits: Digits, batch: tuple[int, ...], axes: tuple[Axis, Marked], position: int
) -> Layout:
    """The first (`position` 0) or second operand: own indices at neighbouring addresses, then chunks, then batch.

    `axes` are the digits of its own axis and of the reduced one.
    """
    low = 2 if None in axes[1] else 1
    inner, stride = strided(axes[0], low)
    depth, stride = strided(axes[1], stride)
    outer = _batch_axes(problem, digits, batch, stride)
    return Layout((*outer, inner, depth) if position == 0 else (*outer, depth, inner))


def strided(axis: Marked, stride: int) -> tuple[Axis, int]:
    """The digits with addresses from `stride` on, fastest first, the pair at stride 1; and the stride behind them."""
    done: list[Subaxis] = []
    for sub in reversed(axis):
        if sub is None:
            done.append(Subaxis(2))
        elif sub.level is Level.ADDR:
            done.append(Subaxis(sub.size, stride=stride))
            stride *= sub.size
        else:
            done.append(sub)
    return tuple(reversed(done)), stride


def _batch_axes(problem: Problem, digits: Digits, own: tuple[int, ...], stride: int) -> tuple[Axis, ...]:
    """The batch axes of an operand or result, the last one at the lowest stride."""
    first = len(problem.batch) - len(own)
    axes: list[Axis] = []
    for number in reversed(range(first, len(problem.batch))):
        axis: Axis = ()
        if own[number - first] > 1 or problem.batch[number] == 1:
            axis, stride = strided(digits.batch[number], stride)
        axes.append(axis)
    return tuple(reversed(axes))


def _result(problem: Problem, digits: Digits, sizes: Sizes) -> Layout:
    """The result: columns at neighbouring addresses (behind the low spread digit and the pair), then tiles, batch."""
    low = 2 if any(s and s.level is Level.ADDR for s in (sizes.pair, *sizes.spread_columns)) else 1
    column_digits = _divided(digits.columns, sizes.columns, prod(sub.size for sub in sizes.spread_columns))
    tiles = prod(sub.size for sub in sizes.spread_tiles)
    row_digits = _divided(digits.rows, sizes.tiles * problem.mode.rows, tiles * problem.mode.rows)
    outer_columns, stride = strided(column_digits, low)
    outer_rows, stride = strided(row_digits, stride)
    batch = _batch_axes(problem, digits, problem.batch, stride)
    pair = (sizes.pair,) if sizes.pair else ()
    tile = tuple(sub for digit in problem.mode.row_digits for sub in ((digit,) if digit else pair))
    rows, columns = (*outer_rows, *sizes.spread_tiles, *tile), (*outer_columns, *sizes.spread_columns)
    return Layout((*batch, rows, columns) if problem.row_axis == 0 else (*batch, columns, rows))


def _divided(axis: Axis, count: int, parts: int) -> Axis:
    """The digits without the fastest `parts` indices, which are addresses; `count` addresses where all digits are."""
    if all(sub.level is Level.ADDR for sub in axis):
        return (Subaxis(count // parts),)
    last = axis[-1]
    return (*axis[:-1], Subaxis(last.size // parts)) if parts > 1 else axis


def divisible(axis: Axis, parts: int) -> bool:
    """Whether `_divided` can take `parts` indices off the digits."""
    if parts == 1 or all(sub.level is Level.ADDR for sub in axis):
        return True
    return axis[-1].level is Level.ADDR and axis[-1].size % parts == 0


def split_of(digits: Digits) -> Split:
    """The factors of the digits, without any scattering."""
    axes = ([sub for axis in digits.batch for sub in axis], digits.rows, digits.columns, digits.depth)
    l2b, l1b, mab = (_ways(axes, level) for level in (Level.L2B, Level.L1B, Level.MAB))
    return Split(l2b, l1b, mab)


def _ways(axes: Iterable[Sequence[Subaxis | None]], level: Level) -> Four:
    b, r, c, d = (prod(sub.size for sub in axis if sub and sub.level is level) for axis in axes)
    return b, r, c, d


def usable(problem: Problem, plan: Plan) -> bool:
    """Whether the digits leave room for tiles and for what is scattered."""
    sizes = sizes_of(problem, plan)
    rows = problem.mode.rows * prod(sub.size for sub in sizes.spread_tiles)
    columns = prod(sub.size for sub in sizes.spread_columns)
    return divisible(plan.digits.rows, rows) and divisible(plan.digits.columns, columns)


def joined(axis: Axis) -> Axis:
    """The last two digits as one if both are addresses, whatever their strides are."""
    if len(axis) > 1 and axis[-2].level is axis[-1].level is Level.ADDR:
        return (*axis[:-2], Subaxis(axis[-2].size * axis[-1].size))
    return axis


def can_turn(mode: Mode, own: Axis) -> bool:
    """Whether an operand with this axis of its own may be turned while it is read: it has whole tiles at addresses."""
    return mode.turns and own[-1].level is Level.ADDR and own[-1].size % mode.rows == 0


def used(digits: Sequence[Subaxis | None], level: Level) -> int:
    """The coordinate bits of a level that power-of-two digits take."""
    return sum((sub.size - 1) * sub.stride for sub in digits if sub and sub.level is level and sub.size > 1)


def _ceil(count: int, parts: int) -> int:
    return -(-count // parts)


def _round(count: int, unit: int) -> int:
    return _ceil(count, unit) * unit
