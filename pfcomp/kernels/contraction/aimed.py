"""Plans whose result lies where it is wanted, so that nothing has to be moved behind the product.

The result's digits are those of the operands' own axes, except that the rows of a tile lie at neighbouring addresses of
the stationary operand; the reduced axis is spread over levels that the result leaves, or over none of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from pfcomp.kernels.contraction.mapping import Axis, Digits, Marked, Plan, can_turn, joined, layouts_of, split_of, used
from pfcomp.kernels.contraction.modes import Mode
from pfcomp.kernels.contraction.problem import Problem
from pfcomp.layout.canonical import canonical
from pfcomp.layout.model import Layout, Level, Subaxis

GRID = (Level.L2B, Level.L1B, Level.MAB)
INSIDE = (Level.PE, Level.W)


def aimed(problem: Problem, wanted: Sequence[Layout]) -> Iterator[Plan]:
    """Plans that leave the result in one of the wanted layouts; none for products with batch axes."""
    for layout in wanted if not problem.batch else ():
        axes = canonical(layout).axes
        rows, columns = _without_tile(axes[-2 + problem.row_axis], problem.mode), axes[-1 - problem.row_axis]
        if rows is not None and _usable((*rows, *columns)) and _holds_pairs(problem, layout):
            for depth in _depths(problem, (*rows, *columns)):
                digits = Digits((), rows, columns, depth)
                for turned in product(_turns(problem.mode, rows), _turns(problem.mode, columns)):
                    yield Plan(split_of(digits), digits, result=layout, turned=turned)


def readdressed(problem: Problem, plan: Plan, wanted: Sequence[Layout]) -> Plan:
    """The plan with its result in a wanted layout, if there is one that differs in addresses only."""
    if not wanted or plan.split.scatter:
        return plan
    here = places(layouts_of(problem, plan)[1])
    found = [layout for layout in wanted if places(layout) == here and _holds_pairs(problem, layout)]
    return replace(plan, result=found[0]) if found else plan


def places(layout: Layout) -> list[list[tuple[int, Level, int]]]:
    """The digits of all axes, without the strides of addresses."""
    return [
        [(sub.size, sub.level, 0 if sub.level is Level.ADDR else sub.stride) for sub in axis]
        for axis in canonical(layout).axes
    ]


def _turns(mode: Mode, own: Axis) -> tuple[bool, ...]:
    return (False, True) if own and can_turn(mode, own) else (False,)


def _without_tile(rows: Axis, mode: Mode) -> Axis | None:
    """The digits of the stationary operand's own axis; None if the result's do not end with the rows of a tile."""
    tile = mode.row_digits
    outer, inner = rows[: -len(tile)], rows[-len(tile) :]
    if len(inner) < len(tile) or not all(map(_fits, inner, tile)):
        return None
    return joined((*outer, Subaxis(mode.rows)))


def _fits(digit: Subaxis, wanted: Subaxis | None) -> bool:
    """Whether a digit of a tile is the wanted one; None stands for the pair of long words, at any address."""
    return (digit.size, digit.level) == (2, Level.ADDR) if wanted is None else digit == wanted


def _holds_pairs(problem: Problem, layout: Layout) -> bool:
    """Whether the two long words of a wide result are neighbours, at an even address."""
    if not problem.mode.wide:
        return True
    axes = list(canonical(layout).axes)
    rows = axes.pop(-2 + problem.row_axis)
    place = len(rows) - 1 - problem.mode.row_digits[::-1].index(None)
    others = [*rows[:place], *rows[place + 1 :], *(sub for axis in axes for sub in axis)]
    return rows[place] == Subaxis(2) and all(sub.level is not Level.ADDR or sub.stride % 2 == 0 for sub in others)


def _usable(digits: Axis) -> bool:
    """Whether the digits are such as the kernel can spread work over."""
    spatial = [sub for sub in digits if sub.level is not Level.ADDR]
    return all(
        sub.level in GRID and sub.size & (sub.size - 1) == 0 and sub.stride & (sub.stride - 1) == 0 for sub in spatial
    )


def _depths(problem: Problem, digits: Axis) -> Iterator[Marked]:
    """Ways to spread the reduced axis over what the result leaves: all free L1Bs, all L2Bs, all MABs, or none."""
    mode = problem.mode
    ways = [
        ((), (Subaxis(level.extent, level),)) if not used(digits, level) else ((),) for level in (Level.L2B, Level.MAB)
    ]
    free = tuple(
        Subaxis(2, Level.L1B, 1 << bit) for bit in reversed(range(3)) if not used(digits, Level.L1B) >> bit & 1
    )
    l1b_ways = ((), free) if free else ((),)
    for l2b, l1b, mab in product(ways[0], l1b_ways, ways[1]):
        spread = (*l2b, *l1b, *mab)
        chunks = -(-problem.depth // (prod(sub.size for sub in spread) * mode.depth))
        if prod(sub.size for sub in spread) * mode.depth < 2 * problem.depth:
            yield (*spread, Subaxis(chunks), *mode.depth_digits)
