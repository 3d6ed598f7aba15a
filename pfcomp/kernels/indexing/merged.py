"""Gather from data whose rows are spread over MABs, L1Bs and L2Bs: each PE reads the rows it has, the rest is zero, and
the contributions are joined by bitwise or on their way up (backend-movement.md 5.4).

The elements of a row lie in words, PEs and then addresses. A cell is one index and one of these addresses; sixteen
cells become a row of 64 long words in L1BM and go down to sixteen MABs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.isa.model import CYCLES, Address, Move, Operand, Place
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed, Scratch
from pfcomp.kernels.indexing.access import in_lm0, indirect
from pfcomp.kernels.indexing.forms import axis_of
from pfcomp.kernels.indexing.index import IndexEmitter
from pfcomp.layout import Layout, Level, Subaxis

VARIANT = "merged"
CELLS = 16
"""Cells of one row of L1BM: one for each MAB."""
ROW = 64
BATCH = 32
"""Rows that are in L2BM at the same time; a multiple of the four rows of a step down to the PEs."""
ROOMY, LARGEST = 1024, 2048
"""Long words of each PE that data should, and may, take."""
HOLDERS = ((Level.MAB,), (Level.L1B, Level.MAB), (Level.L2B, Level.L1B, Level.MAB))
NUMBERS = {Level.MAB: "$mabid", Level.L1B: "$l1bid", Level.L2B: "$l2bid"}
INDEX_STEPS, MOVE_STEPS = 7, 60


@dataclass(frozen=True, slots=True)
class Merged:
    """Rows over `holders`, `low` (a power of two) of them in each PE; `cells` addresses of a PE for one row.

    The last axis of the index has `last` values, `lasts` with padding: whole rows of L1BM.
    """

    holders: tuple[Level, ...]
    low: int
    cells: int
    data: Layout
    index: Layout
    output: Layout
    firsts: int  # values of the other axes of the index
    last: int
    lasts: int

    @property
    def size(self) -> int:
        """Long words of the data in each PE."""
        return self.low * self.cells

    @property
    def rows(self) -> int:
        """Rows of L1BM for all cells."""
        return self.firsts * self.lasts * self.cells // CELLS

    def vectors(self, row: int) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
        """For each four cells of a row the index addresses and the data addresses of index 0."""
        for first in range(CELLS * row, CELLS * (row + 1), CYCLES):
            found = [divmod(cell, self.cells) for cell in range(first, first + CYCLES)]
            yield tuple(self._column(n) for n, _ in found), tuple(self.low * rest for _, rest in found)

    def _column(self, number: int) -> int:
        """The address of an index; padding repeats the last one of its axis."""
        first, last = divmod(number, self.lasts)
        return first * self.last + min(last, self.last - 1)


def merged_of(job: Job) -> Merged | None:
    """The way to spread the rows; None if there is none, or the rows have several axes."""
    data = job.inputs[0]
    axis = axis_of(job)
    others = [n for n, size in enumerate(data.shape) if n != axis and size > 1]
    if len(others) > 1:
        return None
    row = data.shape[others[0]] if others else 1
    inner, cells = _row_digits(row, data.dtype.bits)
    for limit in (ROOMY, LARGEST):
        for holders in HOLDERS:
            held = prod(level.extent for level in holders)
            low = 1 << (-(-data.shape[axis] // held) - 1).bit_length()
            if low * cells <= limit:
                return _layouts(job, others[0] if others else None, holders, low, cells, inner)
    return None


def _row_digits(row: int, bits: int) -> tuple[tuple[Subaxis, ...], int]:
    """The digits of a row in PEs and words, and the addresses it takes: a power of two or a multiple of sixteen."""
    word = 2 if bits == 32 and row > 1 else 1
    pe = min(Level.PE.extent, 1 << (-(-row // word) - 1).bit_length())
    rest = -(-row // (word * pe))
    cells = -(-rest // CELLS) * CELLS if rest > CELLS else 1 << (rest - 1).bit_length()
    digits = (Subaxis(pe, Level.PE, 1), Subaxis(word, Level.W, 1))
    return tuple(digit for digit in digits if digit.size > 1), cells


def _layouts(
    job: Job, other: int | None, holders: tuple[Level, ...], low: int, cells: int, inner: tuple[Subaxis, ...]
) -> Merged:
    data, index = job.inputs[:2]
    axis = axis_of(job)
    per_row = max(1, CELLS // cells)
    *outer, last = index.shape or (1,)
    lasts = -(-last // per_row) * per_row
    above = max(1, cells // CELLS)
    digits: list[tuple[Subaxis, ...]] = [() for _ in data.shape]
    digits[axis] = (*(Subaxis(level.extent, level, 1) for level in holders), *_sized(low, Level.ADDR, 1))
    result = list(digits)
    if other is not None:
        digits[other] = (*_sized(cells, Level.ADDR, low), *inner)
        result[other] = (*_sized(above, Level.ADDR, 1), *_sized(min(cells, CELLS), Level.MAB, 1), *inner)
    columns = _columns(outer, last, per_row, above, cells)
    output = Layout((*result[:axis], *columns[: len(index.shape)], *result[axis + 1 :]))
    plain = _columns(outer, last, 1, 1, 1)
    return Merged(
        holders, low, cells, Layout(tuple(digits)), Layout(tuple(plain[: len(index.shape)])), output,
        prod(outer), last, lasts,
    )  # fmt: skip


def _columns(outer: list[int], last: int, per_row: int, stride: int, cells: int) -> list[tuple[Subaxis, ...]]:
    """Digits for the axes of the index from an address stride on, the lowest `per_row` of the last one over MABs."""
    digits = [
        (*_sized(-(-last // per_row), Level.ADDR, stride), *(_sized(per_row, Level.MAB, cells) if last > 1 else ()))
    ]
    stride *= -(-last // per_row)
    for size in reversed(outer):
        digits.insert(0, _sized(size, Level.ADDR, stride))
        stride *= size
    return digits


def _sized(size: int, level: Level, stride: int) -> tuple[Subaxis, ...]:
    return (Subaxis(size, level, stride),) if size > 1 else ()


def binding_of(way: Merged) -> Binding:
    """The binding with an estimate of its steps."""
    vectors = way.rows * CELLS // CYCLES
    loads = min(vectors, way.firsts * way.last) * INDEX_STEPS
    through = 2 * way.rows if len(way.holders) > 1 else 0
    moves = MOVE_STEPS * -(-way.rows // BATCH) if Level.L2B in way.holders else 0
    scratch = (Scratch(-(-way.size // CYCLES) * CYCLES, Location.LM0),)
    return Binding((way.data, way.index), (way.output,), vectors + loads + through + moves, VARIANT, scratch)


def emit(context: KernelContext, job: Job, way: Merged, placed: Placed) -> None:
    """Batches of rows: gathered and joined, exchanged if L1Bs are crossed, delivered."""
    base = in_lm0(context, placed.inputs[0], placed.scratch[0] if placed.scratch else None)
    reader = _Reader(context, way, placed.inputs[1], base, IndexEmitter(context.builder, _length(job), 0))
    target = placed.outputs[0]
    for first in range(0, way.rows, BATCH):
        rows = range(first, min(first + BATCH, way.rows))
        if len(way.holders) == 1:
            l1bm = context.rings.l1bm.take(-(-len(rows) // CYCLES) * CYCLES * ROW, ROW)
            for number, row in enumerate(rows):
                reader.read(row, l1bm + ROW * number)
            _deliver(context, l1bm, rows, target)
        else:
            _exchange(context, reader, rows, target)


def _length(job: Job) -> int:
    return job.inputs[0].shape[axis_of(job)]


def _exchange(context: KernelContext, reader: _Reader, rows: range, target: MNValue) -> None:
    """Join the rows of all L1Bs, and of all L2Bs, and bring them to everybody."""
    op = context.builder.op
    l2bm = context.rings.l2bm.take(len(rows) * ROW, ROW)
    for number, row in enumerate(rows):
        l1bm = context.rings.l1bm.take(ROW, ROW)
        reader.read(row, l1bm)
        op("l2bmrlbor", operands.l1bm(l1bm), to=operands.l2bm(l2bm + ROW * number))
    if Level.L2B in reader.way.holders:
        pdm = Operand(Place.PDM, operands.WORDS, Address(0), group=0)
        size = len(rows) * ROW
        context.builder.move(Move("r", size, operands.l2bm_of(l2bm, None), pdm, reduction="lbor"))
        l2bm = context.rings.l2bm.take(size, ROW)
        context.builder.move(Move("b", size, pdm, operands.l2bm_of(l2bm, None)))
    l1bm = context.rings.l1bm.take(-(-len(rows) // CYCLES) * CYCLES * ROW, ROW)
    for number in range(len(rows)):
        op("l2bmb", operands.l2bm(l2bm + ROW * number), to=operands.l1bm(l1bm + ROW * number))
    _deliver(context, l1bm, rows, target)


def _deliver(context: KernelContext, l1bm: int, rows: range, target: MNValue) -> None:
    """Row r of L1BM becomes address r of the result; the last step may write up to three addresses of its own size."""
    for number in range(0, len(rows), CYCLES):
        to = operands.run(target.location, (target.address or 0) + rows[number])
        context.builder.op("l1bmd", operands.l1bm(l1bm + ROW * number), to=to)


class _Reader:
    """Gathers rows of cells into L1BM."""

    def __init__(self, context: KernelContext, way: Merged, indices: MNValue, base: int, emitter: IndexEmitter) -> None:
        self.context, self.way, self.indices, self.base, self.emitter = context, way, indices, base, emitter
        self.columns: tuple[int, ...] = ()
        self.mask = 0
        self.number = self._own_number()

    def _own_number(self) -> Virtual:
        """Which part of the rows this PE has."""
        op = self.context.builder.op
        number, bits = op("lpassa", NUMBERS[Level.MAB]), Level.MAB.extent.bit_length() - 1
        for level in reversed(self.way.holders[:-1]):
            part = op("llsl", NUMBERS[level], self.emitter.constant(bits, long=False))
            number = op("ladd", part, number)
            bits += level.extent.bit_length() - 1
        return number

    def read(self, row: int, l1bm: int) -> None:
        """Join the cells of a row from all MABs at an address of L1BM."""
        op = self.context.builder.op
        for number, (columns, places) in enumerate(self.way.vectors(row)):
            if columns != self.columns:
                self._load(columns)
            source = indirect([self.base + place for place in places])
            mine = op(f"lpassa/$imr{self.mask}", source)
            op("l1bmrlbor", mine, to=operands.l1bm(l1bm + ROW // CYCLES * number))

    def _load(self, columns: tuple[int, ...]) -> None:
        """T and the mask for the indices at some addresses."""
        op, emitter, low = self.context.builder.op, self.emitter, self.way.low
        self.columns, self.mask = columns, self.context.mask()
        at = [(self.indices.address or 0) + column for column in columns]
        index = emitter.normal(operands.vector(self.indices.location, at), self.indices.dtype)
        if self.indices.dtype is DType.INT:
            index = op("llsr", index, emitter.constant(32, long=False))
        emitter.load(op("land", index, emitter.constant(low - 1, long=True)), DType.LONG)
        part = op("llsr", index, emitter.constant(low.bit_length() - 1, long=False))
        op("lxor", part, self.number, to=f"$omr{self.mask}")
