"""Ways to spread a matrix product over the chip: all of them, costed, and the best of different kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from pfcomp.kernels.contraction.cost import Estimate, estimate
from pfcomp.kernels.contraction.mapping import Problem, Split, batch_axis, sizes_of
from pfcomp.layout.model import Level

LM_WORDS = 2048
MOST = 12
"""Ways that are proposed for a job."""
WASTE = 2
"""A factor may leave at most this many times the work of one way that is half as wide."""

Four = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Way:
    """A split with its estimate."""

    problem: Problem
    split: Split
    estimate: Estimate


def ways(problem: Problem) -> Iterator[Way]:
    """All ways that fit into local memory."""
    limits = _limits(problem)
    for l2b in _factors(8, (*limits[:3], 1)):
        rest = _remaining(limits, l2b)
        for l1b in _factors(8, rest):
            inner = _remaining(rest, l1b)
            for mab in _mab_factors(inner):
                for scatter in _scatters(l1b, mab):
                    yield from _costed(problem, Split(l2b, l1b, mab, scatter))


def _costed(problem: Problem, split: Split) -> Iterator[Way]:
    found = estimate(problem, split, sizes_of(problem, split))
    if max(found.words) <= LM_WORDS and sum(found.words) <= LM_WORDS * 3 // 2:
        yield Way(problem, split, found)


def _limits(problem: Problem) -> Four:
    """How many ways each axis may be split before places stay empty."""
    longest = problem.batch[batch_axis(problem.batch)] if problem.batch else 1
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


def _mab_factors(limits: Four) -> Iterator[Four]:
    """The depth takes all MABs or none."""
    batch, rows, columns, depth = limits
    yield from _factors(16, (batch, rows, columns, 1))
    if depth >= 16:
        yield 1, 1, 1, 16


def _scatters(l1b: Four, mab: Four) -> Iterator[tuple[Level, ...]]:
    yield ()
    if mab[3] == 1:
        return
    yield (Level.MAB,)
    if l1b[3] == 8:
        yield (Level.L1B,)
        yield (Level.L1B, Level.MAB)


_ORDERS: tuple[Callable[[Way], int], ...] = (
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
    chosen: list[Way] = []
    rankings = [iter(sorted(found, key=lambda way: (order(way), way.estimate.total))) for order in _ORDERS]
    kinds: dict[tuple[object, ...], None] = {}
    while len(chosen) < MOST and rankings:
        rankings = [ranking for ranking in rankings if _next_kind(ranking, kinds, chosen)]
    return tuple(sorted(chosen, key=lambda way: way.estimate.total))


def _next_kind(ranking: Iterator[Way], kinds: dict[tuple[object, ...], None], chosen: list[Way]) -> bool:
    """Take the next way of a kind that was not chosen yet; False if there is none."""
    for way in ranking:
        split = way.split
        kind = (way.problem.row_axis, way.problem.mode.name, split.l2b, split.l1b, split.mab[3], split.scatter)
        if kind not in kinds:
            kinds[kind] = None
            chosen.append(way)
            return True
    return False
