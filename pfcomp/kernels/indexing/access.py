"""Data in LM0, where T-indirect addresses reach it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pfcomp.ir.model import LM_WORDS, DType, Location, MNValue
from pfcomp.isa.model import CYCLES, Address, Operand, Place
from pfcomp.kernels import operands
from pfcomp.kernels.api import Job, KernelContext, Scratch, Spec
from pfcomp.kernels.indexing.forms import axis_of, data_layout
from pfcomp.layout import Layout
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level

INDEX_TYPES = (DType.INT, DType.LONG)
PES = 4096
"""Places over which an axis can be spread."""
SPREAD_FROM = 512
"""Long words of data in each PE from which on the indexed axis may be spread as well."""


def refuse_data(job: Job) -> str:
    """Why operands of these types cannot be indexed."""
    data, index = job.inputs[:2]
    if data.dtype.bits == 16:
        return f"{job.op} of {data.dtype} elements"
    if index.dtype not in INDEX_TYPES:
        return f"{job.op} with indices of type {index.dtype}"
    return ""


def refuse_size(job: Job, *, spread: bool = False) -> str:
    """Why the data does not fit, if its axis shall lie in each PE, or be spread: other axes can be cut."""
    length = job.inputs[0].shape[axis_of(job)]
    size = -(-length // PES) if spread else length
    return f"{job.op} of {size} long words in each PE, more than local memory has" if size > LM_WORDS else ""


def data_layouts(data: Spec, axis: int, *, always: bool = False) -> Iterator[Layout]:
    """Layouts for writing: the indexed axis in each PE, if that is not long, and spread if it is, or `always`."""
    own = data_layout(data.shape, axis, data.dtype.bits)
    if extent(own, Level.ADDR) <= LM_WORDS:
        yield own
    if always or extent(own, Level.ADDR) > SPREAD_FROM:
        yield data_layout(data.shape, axis, data.dtype.bits, spread=True)


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
