"""GatherElements: every element of the result has an index of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pfcomp.ir.model import LM_WORDS, DType, MNValue
from pfcomp.isa.model import CYCLES
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.indexing.access import copy_of, in_lm0, indirect, refuse_data, refuse_size
from pfcomp.kernels.indexing.forms import Rows, axis_of, data_layout, index_digits, replaced, rows_of
from pfcomp.kernels.indexing.index import LOAD_OPS, IndexEmitter
from pfcomp.layout import Layout, Subaxis
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.layout.twin import splits_words, twin


@dataclass(frozen=True, slots=True)
class Lanes:
    """Data, and an index beside it: the same place on the chip for all axes but the indexed one.

    `form` is the layout of the index for the type of the data, `index` that for its own type; the index has
    `addresses` of the indexed axis, and the data the addresses `bases` of index 0 for the other digits in Addr.
    """

    rows: Rows
    form: Layout
    index: Layout
    addresses: int
    bases: tuple[int, ...]
    split: bool  # the two words of a long word hold different elements

    def cells(self) -> Iterator[list[tuple[int, int]]]:
        """(index address, address of the data) of up to four elements at a time."""
        found = [
            (rest * self.addresses + column, base)
            for rest, base in enumerate(self.bases)
            for column in range(self.addresses)
        ]
        for start in range(0, len(found), CYCLES):
            yield found[start : start + CYCLES]


def lanes_of(job: Job, layout: Layout, *, spread: bool) -> Lanes | None:
    """The lanes for data in a layout.

    `spread`: indices of one axis may lie in several places that hold the data, else the data of one axis may lie in
    several places, to all of which the index comes.
    """
    axis, layout = axis_of(job), canonical(layout)
    rows = rows_of(layout, axis, spread=not spread)
    if rows is None:
        return None
    length = job.inputs[1].shape[axis]
    if spread:
        (digits,), addresses = index_digits((length,), layout)
    else:
        digits, addresses = _line(length), length
    form = replaced(rows.restrided(layout, addresses), axis, [digits])
    split = job.inputs[0].dtype.bits == 32 and splits_words(layout)
    wide = split and job.inputs[1].dtype is DType.LONG
    return Lanes(rows, form, twin(form) if wide else form, addresses, tuple(rows.bases(layout)), split)


def _line(length: int) -> tuple[Subaxis, ...]:
    return (Subaxis(length, Level.ADDR, 1),) if length > 1 else ()


def refuse_lanes(job: Job) -> str:
    """Why the operands cannot be indexed element by element."""
    data, index = job.inputs[:2]
    axis = axis_of(job)
    if len(index.shape) != len(data.shape):
        return f"{job.op} with indices of another rank than the data"
    beyond = [n for n in range(len(data.shape)) if n != axis and index.shape[n] > data.shape[n]]
    return f"{job.op} with more indices than data in axis {beyond[0]}" if beyond else refuse_data(job)


class LaneIndex:
    """Loads T for the two words, or the whole long words, of elements."""

    def __init__(self, emitter: IndexEmitter, lanes: Lanes, indices: MNValue) -> None:
        self.emitter, self.lanes, self.indices = emitter, lanes, indices

    def loads(self, addresses: Sequence[int]) -> Iterator[tuple[int | None, Virtual]]:
        """T for each part in turn: the word (None for both) that it is for, and the indices, long words for it."""
        dtype, emitter = self.indices.dtype, self.emitter
        if not self.lanes.split:
            index = self._local(addresses)
            emitter.load(index, dtype)
            yield None, index
        elif dtype is DType.LONG:
            for word in range(operands.WORDS):
                index = self._local([operands.WORDS * a + word for a in addresses])
                emitter.load(index, dtype)
                yield word, index
        else:
            index = self._local(addresses)
            loaded = emitter.load(index, dtype)
            yield 1, index
            emitter.load_high(loaded)
            yield 0, index

    def _local(self, addresses: Sequence[int]) -> Virtual:
        dtype = self.indices.dtype
        at = operands.vector(self.indices.location, [(self.indices.address or 0) + a for a in addresses])
        return self.emitter.local(self.emitter.normal(at, dtype), dtype)


class GatherElements:
    """out[i, j] = data[index[i, j], j] for axis 0, and so on."""

    def refuse(self, job: Job) -> str:
        """The rows must fit into local memory, and the other axes of the index into those of the data."""
        return refuse_lanes(job) or refuse_size(job)

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The data as offered, if its axis lies in Addr, and spread over the chip."""
        data = job.inputs[0]
        own = data_layout(data.shape, axis_of(job), data.dtype.bits)
        for layout in dict.fromkeys((*offered[0], own)):
            lanes = lanes_of(job, layout, spread=True)
            if lanes is not None and extent(layout, Level.ADDR) <= LM_WORDS:
                vectors = sum(1 for _ in lanes.cells()) * (operands.WORDS if lanes.split else 1)
                steps = vectors * (LOAD_OPS + 1) + LOAD_OPS
                yield Binding((layout, lanes.index), (lanes.form,), steps, scratch=(copy_of(layout),))

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """Four elements at a time."""
        lanes = lanes_of(job, binding.inputs[0], spread=True)
        if lanes is None:
            raise ValueError(f"{job.op} cannot be done in {binding.inputs[0]}")
        base = in_lm0(context, placed.inputs[0], placed.scratch[0] if placed.scratch else None)
        target = placed.outputs[0]
        emitter = IndexEmitter(context.builder, job.inputs[0].shape[axis_of(job)], lanes.rows.shift)
        index = LaneIndex(emitter, lanes, placed.inputs[1])
        for cells in lanes.cells():
            for word, _ in index.loads([address for address, _ in cells]):
                width = operands.WORDS if word is None else 1
                source = indirect([base + row for _, row in cells], width, word or 0)
                at = [operands.WORDS * ((target.address or 0) + address) + (word or 0) for address, _ in cells]
                context.builder.op("lpassa", source, to=operands.words(target.location, at, width))
