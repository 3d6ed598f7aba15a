"""Estimates: steps of a contraction, and of loading its operands from DRAM (backend-kernels.md 3.3)."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from pfcomp.kernels.contraction.accumulate import block_shape
from pfcomp.kernels.contraction.mapping import Sizes
from pfcomp.kernels.contraction.problem import Problem, Split
from pfcomp.kernels.contraction.scatter import L1BS, MABS
from pfcomp.layout.model import Level

FILL = 8
"""Steps before the first and after the last product."""
OVERHEAD = 1.15
"""What port conflicts cost on top of the busiest unit, measured."""
IN_PLACE = 0.9
"""Share of the sums over L1Bs that waits for products, where they replace partial results in local memory."""
TURN = 8
"""Steps to turn L2BM transfers around."""
MOVE_TURN = 30
"""Steps until the first sum over L2Bs is back."""
MOVE = 3 / 128
"""Steps per long word of the MVs that add up and send back."""
L2BM_ONE, L2BM_ALL = 64, 256
"""Long words that one L2BM step moves from one L1B, or from all of them."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Steps of the kernel; long words per PE of the operands and the result; steps that loading each operand takes.

    `moving` are the steps in which the kernel uses L2BM.
    """

    steps: int
    words: tuple[int, int, int]
    loads: tuple[int, int]
    moving: int

    @property
    def total(self) -> int:
        return self.steps + sum(self.loads)


def estimate(problem: Problem, split: Split, sizes: Sizes, turned: tuple[bool, bool] = (False, False)) -> Estimate:
    """What a way to do the product costs. Operands are in the order (stationary, streamed)."""
    mode = problem.mode
    shared, rows_only, columns_only = _batches(problem, sizes)
    tiles, columns = sizes.tiles * rows_only, sizes.columns * columns_only
    groups = -(-columns // 4)
    compute: float = shared * _products(problem, sizes.chunks, tiles, groups, turned)
    vectors = shared * tiles * groups
    l1, l2, fixed = _delivery(split, vectors, mode.accumulator // 2)
    low = 2 if mode.paired else 1
    stationary = shared * tiles * mode.rows * sizes.chunks * low
    streamed = shared * columns * sizes.chunks * low
    result = shared * tiles * columns * mode.accumulator // 2 // _scattered(split)
    compute *= OVERHEAD
    busy = max(compute, l1, l2) if split.mab[3] > 1 else compute + IN_PLACE * l2
    steps = round(busy + _over_l2bs(split, result)) + fixed + FILL
    loads = _load(split, stationary, (1, 1, 0, 1)), _load(split, streamed, (1, 0, 1, 1))
    return Estimate(
        steps + _padding_fill(problem, split, sizes, stationary + streamed),
        (stationary, streamed, result),
        loads,
        steps if split.l2b[3] > 1 else round(l2),
    )


def _padding_fill(problem: Problem, split: Split, sizes: Sizes, words: int) -> int:
    """Steps to put zeros behind the end of the reduced axis."""
    padded = sizes.chunks * problem.mode.depth * split.ways(3)
    return 0 if padded == problem.depth else FILL + words // 4 // sizes.chunks


def _batches(problem: Problem, sizes: Sizes) -> tuple[int, int, int]:
    """Local batch indices that both operands have, only the stationary one, only the streamed one."""
    stationary, streamed = problem.dims(problem.stationary), problem.dims(problem.streamed)
    counts = [1, 1, 1]
    for count, first, second in zip(sizes.batch, stationary, streamed, strict=True):
        kind = 2 if first == 1 < second else 1 if second == 1 < first else 0
        counts[kind] *= count
    return counts[0], counts[1], counts[2]


def _products(problem: Problem, chunks: int, tiles: int, groups: int, turned: tuple[bool, bool]) -> int:
    """Steps of the busiest of MAU, ALU and the matrix registers, of which a step has two in all for products, too."""
    mode = problem.mode
    height, width = block_shape(tiles, groups, mode.writes if turned[1] else 1)
    blocks = -(-tiles // height) * -(-groups // width)
    passes = blocks * chunks * len(mode.words)
    calc = height * width * len(mode.fma)
    normalise = width + height * mode.writes
    if not any(turned):
        return passes * max(calc, normalise)
    there = (height * turned[0] + width // mode.writes * turned[1]) * mode.writes
    writes = height * mode.writes * len(mode.words) + there
    return blocks * chunks * max(calc * len(mode.words), normalise * len(mode.words), writes, (writes + there) // 2 + 1)


def _delivery(split: Split, vectors: int, wide: int) -> tuple[float, float, int]:
    """L1BM steps, L2BM steps and fixed steps of bringing `vectors` accumulators to the result."""
    depth_l1b, over_mab = split.l1b[3], split.mab[3] > 1
    sets = L1BS // depth_l1b
    if not over_mab:
        if depth_l1b == 1:
            return 0, 0, 0
        return 2 * vectors * wide, 8 * sets * vectors * wide, 2 * TURN
    l2 = vectors * wide / 4
    down = vectors / MABS if Level.MAB in split.scatter else float(vectors)
    if depth_l1b == 1:
        return vectors + (down if split.scatter else 0), 0, 0
    if Level.L1B in split.scatter:
        return vectors + down / L1BS, l2 * 1.25, TURN
    return vectors + down, 2 * l2 * sets + TURN * (vectors * wide / 64), TURN


def _over_l2bs(split: Split, words: int) -> float:
    """Steps to add up a result of `words` long words per PE over L2Bs, the time of MVs included."""
    if split.l2b[3] == 1:
        return 0
    mabs, l1bs = (
        prod(factors[:3]) * (extent if level in split.scatter else 1)
        for level, factors, extent in ((Level.MAB, split.mab, MABS), (Level.L1B, split.l1b, L1BS))
    )
    row = 4 * mabs * l1bs
    return MOVE_TURN + words * (row / (L2BM_ALL if l1bs == L1BS else L2BM_ONE) * 2 + row * MOVE)


def _scattered(split: Split) -> int:
    return prod({Level.MAB: MABS, Level.L1B: L1BS}[level] for level in split.scatter)


def _load(split: Split, words: int, uses: tuple[int, int, int, int]) -> int:
    """Steps to bring an operand of `words` long words per PE from DRAM; `uses` tells which axes of a split it has."""
    per_l1b = 4 * words * prod(f for f, used in zip(split.mab, uses, strict=True) if used)
    distributed = any(f > 1 and used for f, used in zip(split.l1b, uses, strict=True))
    return max(per_l1b // (32 if distributed else 64), words // 4)
