"""Gather: whole rows of the data, by indices that all rows' elements share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.isa.model import CYCLES, Address, Operand, Place
from pfcomp.kernels import operands
from pfcomp.kernels.api import Binding, Job, KernelContext, Placed, Scratch
from pfcomp.kernels.indexing.forms import LM_WORDS, Rows, axis_of, data_layout, index_digits, replaced, rows_of
from pfcomp.kernels.indexing.index import LOAD_OPS, IndexEmitter
from pfcomp.layout import Layout
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level

INDEX_TYPES = (DType.INT, DType.LONG)


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
        """The rows must fit into local memory."""
        return refuse_data(job)

    def bindings(self, job: Job, offered: Sequence[Sequence[Layout]]) -> Iterable[Binding]:
        """The data as offered, if its axis lies in Addr, and spread over the chip."""
        data, axis = job.inputs[0], axis_of(job)
        own = data_layout(data.shape, axis, data.dtype.bits)
        for layout in dict.fromkeys((*offered[0], own)):
            way = way_of(job, layout)
            if way is not None and extent(layout, Level.ADDR) <= LM_WORDS:
                yield Binding((layout, way.index), (way.output,), _steps(way), scratch=(copy_of(layout),))

    def emit(self, context: KernelContext, job: Job, binding: Binding, placed: Placed) -> None:
        """T for four indices and then all their elements, or for one index and four of its elements at a time."""
        layout = binding.inputs[0]
        way = way_of(job, layout)
        if way is None:
            raise ValueError(f"{job.op} cannot be done in {layout}")
        base = in_lm0(context, placed.inputs[0], placed.scratch[0] if placed.scratch else None)
        indices, target = placed.inputs[1], placed.outputs[0]
        emitter = IndexEmitter(context.builder, job.inputs[0].shape[axis_of(job)], way.rows.shift)
        bases = way.rows.bases(layout)
        for columns, moves in _schedule(way):
            at = [(indices.address or 0) + column for column in columns]
            index = emitter.normal(operands.vector(indices.location, at), indices.dtype)
            emitter.load(index, indices.dtype)
            for pairs in moves:
                source = indirect([base + bases[rest] for _, rest in pairs])
                to = [(target.address or 0) + rest * way.addresses + column for column, rest in pairs]
                context.builder.op("lpassa", source, to=operands.vector(target.location, to))


def refuse_data(job: Job) -> str:
    """Why the operands cannot be indexed."""
    data, index = job.inputs[:2]
    if data.dtype.bits == 16:
        return f"{job.op} of {data.dtype} elements"
    if index.dtype not in INDEX_TYPES:
        return f"{job.op} with indices of type {index.dtype}"
    size = extent(data_layout(data.shape, axis_of(job), data.dtype.bits), Level.ADDR)
    return f"{job.op} of {size} long words in each PE, more than local memory has" if size > LM_WORDS else ""


def copy_of(layout: Layout) -> Scratch:
    """Room in LM0 for data that lies in LM1: T reaches only LM0."""
    return Scratch(-(-extent(layout, Level.ADDR) // CYCLES) * CYCLES, Location.LM0)


def in_lm0(context: KernelContext, value: MNValue, scratch: MNValue | None) -> int:
    """The address of a value in LM0, or that of the copy that is made there."""
    if value.location is Location.LM0 or scratch is None:
        return value.address or 0
    copy(context, value, scratch, value.size)
    return scratch.address or 0


def copy(context: KernelContext, source: MNValue, target: MNValue, size: int) -> None:
    """Copy `size` long words, rounded up to whole vectors."""
    for start in range(0, size, CYCLES):
        at = operands.run(source.location, (source.address or 0) + start)
        context.builder.op("lpassa", at, to=operands.run(target.location, (target.address or 0) + start))


def indirect(addresses: Sequence[int], width: int = operands.WORDS, word: int = 0) -> Operand:
    """Long words of LM0 (or their words number `word`), T further on; a short list repeats its last address."""
    at = [operands.WORDS * address + word for address in addresses]
    a, b, c, d = (*at, *[at[-1]] * (CYCLES - len(at)))
    even = b - a == c - b == d - c >= 0
    address = Address(a, b - a, indirect=True) if even else Address(0, flat=(a, b, c, d), indirect=True)
    return Operand(Place.LM0, width, address)


def way_of(job: Job, layout: Layout) -> Way | None:
    """How to gather from data in a layout."""
    axis = axis_of(job)
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
