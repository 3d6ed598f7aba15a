"""Gather from data whose rows are spread over L1Bs and L2Bs, and whose columns lie in the MABs, PEs and words of each.

Each PE reads the rows it has, the rest is zero; L1Bs and then L2Bs are joined by bitwise or, and the rows come down to
all of them. Compared with rows over MABs (`merged`), a row of L1BM takes one step for four of them on its way up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from pfcomp.ir.model import LM_WORDS, DType, MNValue
from pfcomp.isa.model import CYCLES, Address, Move, Operand, Place
from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.indexing.access import copy_of, in_lm0, indirect
from pfcomp.kernels.indexing.forms import Digits, axis_of
from pfcomp.kernels.indexing.index import IndexEmitter
from pfcomp.layout import Layout, Level, Subaxis
from pfcomp.layout.extents import level_extent

VARIANT = "wide"
ROW = 64
"""Long words of L1BM for one address of all PEs of an L1B."""
BATCH = 8
"""Groups of rows that go through L2BM and PDM together."""
INNER = (Level.W, Level.PE, Level.MAB)
HOLDERS = ((Level.L1B,), (Level.L2B, Level.L1B))
INDEX_STEPS, ROW_STEPS, MOVE_STEPS = 7, 2, 20
"""Steps for four indices; of L2BM for a row, up and down; for a batch that goes through PDM."""

Group = tuple[int, int]
"""The first of four indices, and the address of a row."""


@dataclass(frozen=True, slots=True)
class Wide:
    """Every PE has `low` rows and `cells` addresses for each; `holders` are the digits that rows are spread over."""

    holders: Digits
    low: int
    cells: int
    data: Layout
    index: Layout
    output: Layout
    count: int  # of indices

    def batches(self) -> Iterator[list[Group]]:
        """All groups, those of the same indices together."""
        groups = [(first, cell) for first in range(0, self.count, CYCLES) for cell in range(self.cells)]
        for start in range(0, len(groups), BATCH):
            yield groups[start : start + BATCH]


def wide_of(job: Job) -> Wide | None:
    """The way to spread the rows; None if there is none, or the rows have several axes."""
    data, index, axis = job.inputs[0], job.inputs[1], axis_of(job)
    others = [n for n, size in enumerate(data.shape) if n != axis and size > 1]
    if len(others) > 1:
        return None
    inner, cells = _row_digits(data.shape[others[0]] if others else 1, data.dtype.bits)
    for levels in HOLDERS:
        low = -(-data.shape[axis] // prod(level.extent for level in levels))
        if low * cells <= LM_WORDS:
            break
    else:
        return None
    holders = tuple(Subaxis(level.extent, level, 1) for level in levels)
    count = prod(index.shape)
    digits: list[Digits] = [() for _ in data.shape]
    digits[axis] = (*_addresses(low, 1), *holders)
    result = list(digits)
    if others:
        digits[others[0]] = (*_addresses(cells, low), *inner)
        result[others[0]] = (*_addresses(cells, count), *inner)
    lines = [_addresses(size, prod(index.shape[n + 1 :])) for n, size in enumerate(index.shape)]
    output = Layout((*result[:axis], *lines, *result[axis + 1 :]))
    return Wide(holders, low, cells, Layout(tuple(digits)), Layout(tuple(lines)), output, count)


def _row_digits(row: int, bits: int) -> tuple[Digits, int]:
    """The digits of a row inside an L1B, and the addresses that it takes."""
    digits: list[Subaxis] = []
    for level in INNER:
        size = min(level_extent(level, bits), 1 << (row - 1).bit_length())
        if size > 1:
            digits.insert(0, Subaxis(size, level, 1))
            row = -(-row // size)
    return tuple(digits), row


def _addresses(size: int, stride: int) -> Digits:
    return (Subaxis(size, Level.ADDR, stride),) if size > 1 else ()


def binding_of(way: Wide) -> Binding:
    """The binding with an estimate of its steps."""
    rows = -(-way.count // CYCLES) * CYCLES * way.cells
    moves = MOVE_STEPS * -(-rows // (CYCLES * BATCH)) if len(way.holders) > 1 else 0
    steps = INDEX_STEPS * -(-way.count // CYCLES) + ROW_STEPS * rows + moves
    return Binding((way.data, way.index), (way.output,), steps, VARIANT, (copy_of(way.data),), moving=ROW_STEPS * rows)


def emit(context: KernelContext, job: Job, way: Wide, placed: Placed) -> None:
    """While one batch is on its way between the L2Bs, the next one is gathered."""
    base = in_lm0(context, placed.inputs[0], placed.scratch[0] if placed.scratch else None)
    emitter = IndexEmitter(context.builder, job.inputs[0].shape[axis_of(job)], 0, way.holders)
    reader = _Reader(context, way, placed.inputs[1], base, emitter)
    waiting: tuple[list[Group], int] | None = None
    for number, groups in enumerate(way.batches()):
        joined = _join(context, reader, groups, number)
        if waiting is not None:
            _deliver(context, way, *waiting, placed.outputs[0])
        waiting = groups, joined
    if waiting is not None:
        _deliver(context, way, *waiting, placed.outputs[0])


def _join(context: KernelContext, reader: _Reader, groups: list[Group], number: int) -> int:
    """The rows of a batch in L2BM, the same in all L2Bs; returns their address."""
    size = len(groups) * CYCLES * ROW
    l1bm, l2bm = context.rings.l1bm.take(size, ROW), context.rings.l2bm.take(size, ROW)
    for place, group in enumerate(groups):
        reader.read(group, l1bm + place * CYCLES * ROW)
    for start in range(0, size, ROW):
        context.builder.op("l2bmrlbor", operands.l1bm(l1bm + start), to=operands.l2bm(l2bm + start))
    if len(reader.way.holders) == 1:
        return l2bm
    pdm = Operand(Place.PDM, operands.WORDS, Address(number % 2 * BATCH * CYCLES * ROW), group=0)
    context.builder.move(Move("r", size, operands.l2bm_of(l2bm, None), pdm, reduction="lbor"))
    l2bm = context.rings.l2bm.take(size, ROW)
    context.builder.move(Move("b", size, pdm, operands.l2bm_of(l2bm, None)))
    return l2bm


def _deliver(context: KernelContext, way: Wide, groups: list[Group], l2bm: int, target: MNValue) -> None:
    """Rows from L2BM to all MABs; beyond the last index the last one is repeated."""
    l1bm = context.rings.l1bm.take(len(groups) * CYCLES * ROW, ROW)
    for start in range(0, len(groups) * CYCLES * ROW, ROW):
        context.builder.op("l2bmb", operands.l2bm(l2bm + start), to=operands.l1bm(l1bm + start))
    for place, (first, cell) in enumerate(groups):
        start = (target.address or 0) + cell * way.count
        to = operands.vector(target.location, [start + n for n in range(first, min(first + CYCLES, way.count))])
        context.builder.op("l1bmd", operands.l1bm(l1bm + place * CYCLES * ROW), to=to)


class _Reader:
    """Reads groups of rows into L1BM; rows of other PEs are zero."""

    def __init__(self, context: KernelContext, way: Wide, indices: MNValue, base: int, emitter: IndexEmitter) -> None:
        self.context, self.way, self.indices, self.base, self.emitter = context, way, indices, base, emitter
        self.first = -1
        self.mask = 0

    def read(self, group: Group, l1bm: int) -> None:
        """Four rows of 64 long words."""
        first, cell = group
        if first != self.first:
            self._load(first)
        source = indirect([self.base + cell * self.way.low])
        mine = self.context.builder.op(f"lpassa/$imr{self.mask}", source)
        self.context.builder.op("l1bmd", mine, to=operands.l1bm(l1bm))

    def _load(self, first: int) -> None:
        """T and the mask of the PE's own rows for four indices."""
        emitter, dtype = self.emitter, self.indices.dtype
        self.first, self.mask = first, self.context.mask()
        long = dtype is DType.LONG
        at = [(self.indices.address or 0) + n for n in range(first, min(first + CYCLES, self.way.count))]
        index = emitter.local(emitter.normal(operands.vector(self.indices.location, at), dtype), dtype)
        last = emitter.constant(self.way.low - 1, long=long)
        self.context.builder.op(f"u{'l' if long else 'i'}sub", last, index, to=f"$omr{self.mask}")
        emitter.load(index, dtype)
