"""Gather: whole rows of the data, by indices that all rows' elements share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pfcomp.ir.model import LM_WORDS
from pfcomp.isa.model import CYCLES
from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed
from pfcomp.kernels.indexing import merged, wide
from pfcomp.kernels.indexing.access import SPREAD_FROM, copy_of, in_lm0, indirect, refuse_data, refuse_size
from pfcomp.kernels.indexing.forms import Rows, axis_of, data_layout, index_digits, replaced, rows_of
from pfcomp.kernels.indexing.index import LOAD_OPS, IndexEmitter
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level


def narrow(job: Job) -> Job:
    """The job on the smallest pieces along the other axes of the data."""
    data, axis = job.inputs[0], axis_of(job)
    shape = tuple(n if k == axis else 1 for k, n in enumerate(data.shape))
    return replace(job, inputs=(replace(data, shape=shape), *job.inputs[1:]))


@dataclass(frozen=True, slots=True)
class Way:
    """A layout of the data that can be gathered from, and what follows from it."""

    rows: Rows
    index: Layout
    output: Layout
    addresses: int  # of the index
    count: int  # of the other digits' values


class Gather:
    """out[before, i, after] = data[before, index[i], after]."""

    def refuse(self, job: Job) -> str:
        """The data must fit into local memory in one of the two ways."""
        return refuse_data(job) or ("" if merged.merged_of(narrow(job)) else refuse_size(job))

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The data as offered, if its axis lies in Addr, spread over the chip, and with its rows in several places."""
        data, axis = job.inputs[0], axis_of(job)
        own = data_layout(data.shape, axis, data.dtype.bits)
        for layout in dict.fromkeys((*offered[0], own)):
            way = way_of(job, layout)
            if way is not None and extent(layout, Level.ADDR) <= LM_WORDS:
                yield Binding((layout, way.index), (way.output,), _steps(way), scratch=(copy_of(layout),))
        if extent(own, Level.ADDR) > SPREAD_FROM:
            joined, across = merged.merged_of(job), wide.wide_of(job)
            if joined is not None:
                yield merged.binding_of(joined)
            if across is not None:
                yield wide.binding_of(across)

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """T for four indices and then all their elements, or for one index and four of its elements at a time."""
        layout = binding.inputs[0]
        joined = merged.merged_of(job) if binding.variant == merged.VARIANT else None
        across = wide.wide_of(job) if binding.variant == wide.VARIANT else None
        if joined is not None:
            merged.emit(context, job, joined, placed)
            return
        if across is not None:
            wide.emit(context, job, across, placed)
            return
        way = way_of(job, layout)
        if way is None:
            raise ValueError(f"{job.op} cannot be done in {layout}")
        base = in_lm0(context, placed.inputs[0], placed.scratch[0] if placed.scratch else None)
        indices, target = placed.inputs[1], placed.outputs[0]
        emitter = IndexEmitter(context.builder, job.inputs[0].shape[axis_of(job)], way.rows.shift)
        bases = way.rows.bases(canonical(layout))
        for columns, moves in _schedule(way):
            at = [(indices.address or 0) + column for column in columns]
            index = emitter.normal(operands.vector(indices.location, at), indices.dtype)
            emitter.load(index, indices.dtype)
            for pairs in moves:
                source = indirect([base + bases[rest] for _, rest in pairs])
                to = [(target.address or 0) + rest * way.addresses + column for column, rest in pairs]
                context.builder.op("lpassa", source, to=operands.vector(target.location, to))


def way_of(job: Job, layout: Layout) -> Way | None:
    """How to gather from data in a layout."""
    axis, layout = axis_of(job), canonical(layout)
    rows = rows_of(layout, axis)
    if rows is None:
        return None
    digits, addresses = index_digits(job.inputs[1].shape, layout)
    output = replaced(rows.restrided(layout, addresses), axis, digits)
    return Way(rows, Layout(digits), output, addresses, len(rows.bases(layout)))


def _steps(way: Way) -> int:
    return sum(LOAD_OPS + 1 + len(moves) for _, moves in _schedule(way)) + LOAD_OPS


def _schedule(way: Way) -> Iterator[tuple[list[int], list[list[tuple[int, int]]]]]:
    """The index addresses that fill T, and for each move from there the (index address, other digits) of the cycles."""
    if way.addresses < CYCLES <= way.count:
        for column in range(way.addresses):
            cells = [(column, rest) for rest in range(way.count)]
            yield [column], [cells[start : start + CYCLES] for start in range(0, way.count, CYCLES)]
        return
    for start in range(0, way.addresses, CYCLES):
        columns = list(range(start, min(start + CYCLES, way.addresses)))
        yield columns, [[(column, rest) for column in columns] for rest in range(way.count)]
