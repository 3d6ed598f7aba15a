"""Ways to spread a matrix product over the chip: all of them, costed, and the best of different kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from pfcomp.ir.model import LM_WORDS
from pfcomp.kernels.contraction.aimed import aimed, readdressed
from pfcomp.kernels.contraction.cost import Estimate, estimate
from pfcomp.kernels.contraction.mapping import Plan, plan_of, sizes_of
from pfcomp.kernels.contraction.match import matching, scatters, turned
from pfcomp.kernels.contraction.problem import Four, Problem, Split
from pfcomp.layout.model import Layout

MOST = 60
"""Ways that are proposed for a job, besides those that take an operand as it is."""
MOST_MATCHING = 8
MOST_TURNED = 4
MOST_AIMED = 8


@dataclass(frozen=True, slots=True)
class Way:
    """A plan with its estimate."""

    problem: Problem
    plan: Plan
    estimate: Estimate


def ways(problem: Problem) -> Iterator[Way]:
    """All even ways that fit into local memory."""
    limits = _limits(problem)
    for l2b in _l2b_factors(limits):
        rest = _remaining(limits, l2b)
        for l1b in _factors(8, rest):
            inner = _remaining(rest, l1b)
            for mab in _mab_factors(inner):
                for scatter in scatters(l1b, mab):
                    yield from _costed(problem, plan_of(problem, Split(l2b, l1b, mab, scatter)))


def _costed(problem: Problem, plan: Plan) -> Iterator[Way]:
    found = estimate(problem, plan.split, sizes_of(problem, plan), plan.turned)
    if max(found.words) <= LM_WORDS and sum(found.words) - max(found.words) <= LM_WORDS:
        yield Way(problem, plan, found)


def _limits(problem: Problem) -> Four:
    """How many ways each axis may be split before places stay empty."""
    longest = problem.batch[problem.longest_batch] if problem.batch else 1
    tiles, chunks = -(-problem.rows // problem.mode.rows), -(-problem.depth // problem.mode.depth)
    batch, rows, columns, depth = (1 << (n - 1).bit_length() for n in (longest, tiles, problem.columns, chunks))
    return batch, rows, columns, depth


def _remaining(limits: Four, factors: Four) -> Four:
    b, r, c, d = (max(1, limit // factor) for limit, factor in zip(limits, factors, strict=True))
    return b, r, c, d


@lru_cache(maxsize=4096)
def _factors(most: int, limits: Four) -> tuple[Four, ...]:
    """Powers of two within `limits` whose product is `most`, or as much of it as the limits allow."""
    ranges = [[1 << n for n in range(min(most, limit).bit_length())] for limit in limits]
    full = min(most, prod(limits))
    return tuple((b, r, c, d) for b, r, c, d in product(*ranges) if b * r * c * d == full)


def _l2b_factors(limits: Four) -> Iterator[Four]:
    """The depth takes all L2Bs or none."""
    batch, rows, columns, depth = limits
    yield from _factors(8, (batch, rows, columns, 1))
    if depth >= 8:
        yield 1, 1, 1, 8


def _mab_factors(limits: Four) -> Iterator[Four]:
    """The depth takes all MABs or none."""
    batch, rows, columns, depth = limits
    yield from _factors(16, (batch, rows, columns, 1))
    if depth >= 16:
        yield 1, 1, 1, 16


Order = Callable[[Way], int]

_ORDERS: tuple[Order, ...] = (
    lambda way: way.estimate.total,
    lambda way: way.estimate.steps,
    lambda way: way.estimate.steps + way.estimate.loads[0],
    lambda way: way.estimate.steps + way.estimate.loads[1],
)
"""What a planner may have to pay besides the kernel: loading both operands, none, or one of them."""


@lru_cache(maxsize=256)
def best(problems: tuple[Problem, ...]) -> tuple[Way, ...]:
    """The best ways by different measures, no two alike in how L2B and L1B are split and where sums go."""
    found = [way for problem in problems for way in ways(problem)]
    return _varied(found, _ORDERS, _kind, MOST)


def best_matching(
    problems: Sequence[Problem], offered: Sequence[Sequence[Layout]], wanted: Sequence[Layout] = ()
) -> tuple[Way, ...]:
    """The best ways that take operands in offered layouts, if possible with the result at the addresses wanted."""
    found = [
        way
        for problem in problems
        for plan in matching(problem, offered)
        for way in _costed(problem, readdressed(problem, plan, wanted))
    ]
    others = [way for problem in problems for plan in turned(problem, offered) for way in _costed(problem, plan)]
    orders: tuple[Order, ...] = (_left_to_load, lambda way: way.plan.given.count(None) * LM_WORDS + _left_to_load(way))
    straight = [way for way in found if not any(way.plan.turned)]
    turning = [way for way in found if any(way.plan.turned)]
    return (
        *_varied(straight, orders, lambda way: (*_kind(way), way.plan.given), MOST_MATCHING),
        *_varied(turning, orders, lambda way: (*_kind(way), way.plan.given), MOST_TURNED),
        *_varied(others, (lambda way: way.estimate.steps,), _kind, MOST_TURNED),
    )


def best_aimed(problems: Sequence[Problem], wanted: Sequence[Layout]) -> tuple[Way, ...]:
    """The best ways that leave the result in a wanted layout."""
    found = [way for problem in problems for plan in aimed(problem, wanted) for way in _costed(problem, plan)]
    return _varied(found, _ORDERS[:2], lambda way: (*_kind(way), way.plan.turned), MOST_AIMED)


def _left_to_load(way: Way) -> int:
    """Steps, with loading what is not there yet."""
    given, loads = way.plan.given, way.estimate.loads
    return way.estimate.steps + sum(load for load, layout in zip(loads, given, strict=True) if layout is None)


def _kind(way: Way) -> tuple[object, ...]:
    split = way.plan.split
    return way.problem.row_axis, way.problem.mode.name, split.l2b, split.l1b, split.mab[3], split.scatter


def _varied(
    found: list[Way], orders: Sequence[Order], kind: Callable[[Way], tuple[object, ...]], most: int
) -> tuple[Way, ...]:
    """The first ways by each order in turn, one of a kind."""
    rankings = [sorted(found, key=lambda way: (order(way), way.estimate.total)) for order in orders]
    chosen: dict[tuple[object, ...], Way] = {}
    for row in zip(*rankings, strict=True):
        for way in row:
            if len(chosen) < most:
                chosen.setdefault(kind(way), way)
    return tuple(sorted(chosen.values(), key=orders[0]))
