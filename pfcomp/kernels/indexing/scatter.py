"""ScatterElements: elements of the data are replaced by, or combined with, updates at indices of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pfcomp.ir.model import LM_WORDS, DType, Location, MNValue
from pfcomp.isa.model import CYCLES, MaskRef, Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.indexing.access import copy, copy_of, data_layouts, indirect, refuse_size
from pfcomp.kernels.indexing.elements import LaneIndex, Lanes, lanes_of, refuse_lanes
from pfcomp.kernels.indexing.forms import axis_of
from pfcomp.kernels.indexing.index import LOAD_OPS, LOCAL_OPS, IndexEmitter
from pfcomp.kernels.indexing.reductions import combination, refuse_reduction
from pfcomp.kernels.padding import fill
from pfcomp.layout import Layout
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level

WRITE_STEPS, COMBINE_STEPS = 6, 12
"""Steps of one vector: from the index to the write, and with the old value read and combined."""


class ScatterElements:
    """out = data, then out[index[i, j], j] = updates[i, j] for axis 0, and so on; with `reduction` combined."""

    def refuse(self, job: Job) -> str:
        """The reduction must be one of the chip's, and the rows fit into local memory."""
        return refuse_reduction(job) or refuse_lanes(job) or refuse_size(job, spread=True)

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The data as offered, if its axis lies in Addr, and spread over the chip; the result lies where it does."""
        for layout in dict.fromkeys((*offered[0], *data_layouts(job.inputs[0], axis_of(job)))):
            lanes = lanes_of(job, layout, spread=False)
            if lanes is not None and extent(layout, Level.ADDR) <= LM_WORDS:
                inputs = (layout, lanes.index, lanes.form)
                yield Binding(inputs, (layout,), _steps(job, lanes), scratch=(copy_of(layout),), in_place=((0, 0),))

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Work in the result if it lies in LM0, else in the scratch memory.

        Data beyond the indices' shape has an index that is out of range.
        """
        lanes = lanes_of(job, binding.inputs[0], spread=False)
        if lanes is None:
            raise ValueError(f"{job.op} cannot be done in {binding.inputs[0]}")
        data, indices, updates = placed.inputs
        target = placed.outputs[0]
        work = target if target.location is Location.LM0 else placed.scratch[0]
        if (work.location, work.address) != (data.location, data.address):
            copy(context, data, work, target.size)
        if any(a != b for n, (a, b) in enumerate(zip(data.shape, indices.shape, strict=True)) if n != axis_of(job)):
            fill(context, indices, 1 << (indices.dtype.bits - 1))
        rows, length = lanes.rows, data.shape[axis_of(job)]
        emitter = IndexEmitter(context.builder, length, rows.shift, rows.holders)
        writer = _Writer(context, emitter, lanes, indices, updates, work.address or 0, combination(job))
        for cells in _cells(lanes, together=not writer.combine):
            writer.write(cells)
        if work is not target:
            copy(context, work, target, target.size)


def _cells(lanes: Lanes, *, together: bool) -> Iterator[list[tuple[int, int]]]:
    """(update address, row address) of up to four elements of which no two can meet, unless `together`."""
    if together:
        yield from lanes.cells()
        return
    rests = list(enumerate(lanes.bases))
    for column in range(lanes.addresses):
        for start in range(0, len(rests), CYCLES):
            yield [(rest * lanes.addresses + column, base) for rest, base in rests[start : start + CYCLES]]


def _steps(job: Job, lanes: Lanes) -> int:
    combine = combination(job)
    vectors = sum(1 for _ in _cells(lanes, together=not combine)) * (operands.WORDS if lanes.split else 1)
    local = LOCAL_OPS if lanes.rows.holders else 0
    return vectors * ((COMBINE_STEPS if combine else WRITE_STEPS) + local) + LOAD_OPS


@dataclass(slots=True)
class _Writer:
    """Writes vectors of updates to the rows of the long word `base` of LM0."""

    context: KernelContext
    emitter: IndexEmitter
    lanes: Lanes
    indices: MNValue
    updates: MNValue
    base: int
    combine: tuple[str, ...]

    def write(self, cells: Sequence[tuple[int, int]]) -> None:
        """Write or combine up to four elements; those whose index is none of the axis are left out."""
        op = self.context.builder.op
        index = LaneIndex(self.emitter, self.lanes, self.indices)
        for word, found in index.loads([address for address, _ in cells]):
            mask = self._valid(word, found)
            width = operands.WORDS if word is None else 1
            place = indirect([self.base + row for _, row in cells], width, word or 0)
            at = [operands.WORDS * ((self.updates.address or 0) + address) + (word or 0) for address, _ in cells]
            update = operands.words(self.updates.location, at, width)
            value = self._combined(op("lpassa", place), update) if self.combine else update
            op("lpassa", value, to=Operand(place.place, width, place.address, mask=MaskRef(mask)))

    def _combined(self, old: Virtual, update: Operand) -> Virtual:
        first, *rest = self.combine
        result = self.context.builder.op(first, old, update)
        for name in rest:
            result = self.context.builder.op(name, old, update, result)
        return result

    def _valid(self, word: int | None, index: Virtual) -> int:
        """A mask of the cycles whose index is one of the PE's."""
        mask = self.context.mask()
        op, emitter = self.context.builder.op, self.emitter
        last = self.lanes.rows.count(emitter.length) - 1
        if self.indices.dtype is DType.LONG:
            op("ulsub", emitter.constant(last, long=True), index, to=f"$omr{mask}")
            return mask
        if word == 1:
            index = op("llsl", index, emitter.constant(32, long=False))
        op("uisub", emitter.constant(last, long=False), index, to=f"$omr{mask}")
        return mask
