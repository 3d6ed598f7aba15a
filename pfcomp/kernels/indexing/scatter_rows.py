"""ScatterRows: whole rows of the data are replaced by, or combined with, updates; one index for each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from pfcomp.ir.model import LM_WORDS, DType, Location, MNValue
from pfcomp.isa.model import CYCLES, MaskRef, Operand
from pfcomp.isa.operands import FIRST_FIXED_MASK
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed, Scratch
from pfcomp.kernels.indexing.access import copy, copy_of, data_layouts, indirect, refuse_data, refuse_size
from pfcomp.kernels.indexing.forms import Rows, axis_of, replaced, rows_of
from pfcomp.kernels.indexing.index import IndexEmitter
from pfcomp.kernels.indexing.reductions import combination, refuse_reduction
from pfcomp.kernels.lanes import WORD_BITS, Constants
from pfcomp.layout import Layout, Subaxis
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level

INDEX_STEPS, WRITE_STEPS = 7, 3
"""Steps for four indices, and from one read of LM0 to the next one, with a write between."""


@dataclass(frozen=True, slots=True)
class Way:
    """A layout of the data, those of the updates and the index, and the addresses of a row.

    Those of the row number 0 lie before all others: as many long words elsewhere can stand for a row of their own.
    """

    rows: Rows
    data: Layout
    updates: Layout
    index: Layout
    bases: tuple[int, ...]
    count: int  # of indices


class ScatterRows:
    """out = data, then out[before, index[n], after] = updates[before, n, after] for all n, in order.

    Operands are updates, index and data; without data all elements have the bits of the attribute `fill` before.
    """

    def refuse(self, job: Job) -> str:
        """The reduction must be one of the chip's, and the rows fit into local memory."""
        return refuse_reduction(job) or refuse_data(job) or refuse_size(_sized(job), spread=True)

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The data as offered, if its axis lies in Addr, and spread over the chip; the result lies where it does."""
        given = offered[2] if len(job.inputs) > 2 else ()
        for layout in dict.fromkeys((*given, *data_layouts(job.outputs[0], axis_of(job), always=True))):
            way = way_of(job, layout)
            if way is None or extent(layout, Level.ADDR) > LM_WORDS:
                continue
            data = (layout,) if len(job.inputs) > 2 else ()
            scratch = (copy_of(layout), Scratch(max(way.bases) + 1, Location.LM0))
            in_place = ((2, 0),) if data else ()
            inputs = (way.updates, way.index, *data)
            yield Binding(inputs, (layout,), _steps(job, way), scratch=scratch, in_place=in_place)

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Work in the result if it lies in LM0, else in the scratch memory."""
        way = way_of(job, binding.outputs[0])
        if way is None:
            raise ValueError(f"{job.op} cannot be done in {binding.outputs[0]}")
        target = placed.outputs[0]
        work = target if target.location is Location.LM0 else placed.scratch[0]
        _begin(context, job, placed, replace(work, size=target.size))
        base, nowhere = (value.address or 0 for value in (work, placed.scratch[1]))
        writer = _Writer(context, way, placed.inputs[0], base, nowhere, combination(job))
        writer.write(placed.inputs[1], job.outputs[0].shape[axis_of(job)])
        if work is not target:
            copy(context, work, target, target.size)


def _sized(job: Job) -> Job:
    """The job with the result as its first operand."""
    return replace(job, inputs=(job.outputs[0], *job.inputs[1:]))


def way_of(job: Job, layout: Layout) -> Way | None:
    """How to scatter into data in a layout."""
    axis, layout = axis_of(job), canonical(layout)
    rows = rows_of(layout, axis, spread=True)
    bases = () if rows is None else tuple(rows.bases(layout))
    if rows is None or max(bases) >= 1 << rows.shift:
        return None
    (count,) = job.inputs[1].shape
    line = (Subaxis(count, Level.ADDR, 1),) if count > 1 else ()
    updates = replaced(rows.restrided(layout, count), axis, [line])
    return Way(rows, layout, updates, Layout((line,)), bases, count)


def _steps(job: Job, way: Way) -> int:
    each = CYCLES * WRITE_STEPS if combination(job) else 1
    vectors = -(-way.count // CYCLES)
    return vectors * (INDEX_STEPS + len(way.bases) * each) + extent(way.data, Level.ADDR) // CYCLES


def _begin(context: KernelContext, job: Job, placed: Placed, work: MNValue) -> None:
    """The data, or what it consists of, in the place where it is worked on."""
    if len(placed.inputs) > 2:
        data = placed.inputs[2]
        if (work.location, work.address) != (data.location, data.address):
            copy(context, data, work, work.size)
        return
    bits = job.attribute("fill")
    assert isinstance(bits, int)
    wide = job.outputs[0].dtype.bits == 2 * WORD_BITS
    pattern = Constants(context.builder).pair(bits >> WORD_BITS if wide else bits, bits)
    for start in range(0, work.size, CYCLES):
        context.builder.op("lpassa", pattern, to=operands.run(work.location, (work.address or 0) + start))


@dataclass(slots=True)
class _Writer:
    """Writes rows of updates, four at a time, to the rows of the long word `base` of LM0.

    Rows that the PE does not have go to the long words from `nowhere` on: T is the distance from there.
    """

    context: KernelContext
    way: Way
    updates: MNValue
    base: int
    nowhere: int
    combine: tuple[str, ...]

    def write(self, indices: MNValue, length: int) -> None:
        """All rows, those that are combined one by one."""
        rows = self.way.rows
        emitter = IndexEmitter(self.context.builder, length, rows.shift, rows.holders)
        for start in range(0, self.way.count, CYCLES):
            self._load(emitter, indices, start)
            for rest in range(len(self.way.bases)):
                self._rows(range(start, min(start + CYCLES, self.way.count)), rest)

    def _load(self, emitter: IndexEmitter, indices: MNValue, start: int) -> None:
        """T for four rows."""
        op, dtype = self.context.builder.op, indices.dtype
        long = dtype is DType.LONG
        letter = "l" if long else "i"
        source = operands.run(indices.location, (indices.address or 0) + start)
        index = emitter.local(emitter.normal(source, dtype), dtype)
        mask = self.context.mask()
        last = self.way.rows.count(emitter.length) - 1
        op(f"u{letter}sub", emitter.constant(last, long=long), index, to=f"$omr{mask}")
        offset = op(f"{letter}lsl", index, emitter.constant(self.way.rows.shift + 1, long=False))
        distance = operands.WORDS * ((self.base - self.nowhere) % LM_WORDS)
        op(f"{letter}add/$imr{mask}", offset, emitter.constant(distance, long=long), to="$t")

    def _rows(self, numbers: range, rest: int) -> None:
        """One address of four rows."""
        op = self.context.builder.op
        first = (self.updates.address or 0) + rest * self.way.count
        source = operands.vector(self.updates.location, [first + number for number in numbers])
        place = indirect([self.nowhere + self.way.bases[rest]])
        if not self.combine:
            op("lpassa", source, to=replace(place, mask=_cycles((1 << len(numbers)) - 1)))
            return
        update = op("lpassa", source) if self.updates.location is Location.LM0 else source
        *before, last = self.combine
        for cycle in range(len(numbers)):
            sources: tuple[Operand | Virtual, ...] = (place, update)
            for name in before:
                sources = (place, update, op(name, *sources))
            op(last, *sources, to=replace(place, mask=_cycles(1 << cycle)))


def _cycles(chosen: int) -> MaskRef:
    """The fixed mask of some cycles, bit c for cycle c."""
    return MaskRef(FIRST_FIXED_MASK + int(f"{chosen:0{CYCLES}b}"[::-1], 2))
