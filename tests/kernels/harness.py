"""Runs one kernel on the emulator: operands are put into local memory, junk everywhere else, all copies read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator import Machine
from pfcomp.emulator.rows import MEMORIES
from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.isa.model import Place
from pfcomp.isa.pack import Builder, pack
from pfcomp.kernels.api import KernelContext, Table
from pfcomp.layout import Layout
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.layout.places import element_map

LM_WORDS = 2048
ROWS = {Location.LM0: MEMORIES[Place.LM0].base, Location.LM1: MEMORIES[Place.LM1].base}
HOST = {
    DType.FLOAT: np.float32,
    DType.INT: np.int32,
    DType.BOOL: np.int32,
    DType.LONG: np.int64,
    DType.DOUBLE: np.float64,
}


@dataclass(frozen=True)
class Ran:
    """Results by name, and the steps and nops of the packed program."""

    values: dict[str, NDArray[np.generic]]
    steps: int
    nops: int


def held(
    name: str,
    shape: tuple[int, ...],
    layout: str | Layout,
    location: Location,
    address: int,
    dtype: DType = DType.FLOAT,
) -> MNValue:
    """A value in local memory; its size is rounded up to whole vectors of four long words."""
    parsed = Layout.parse(layout) if isinstance(layout, str) else layout
    size = -(-extent(parsed, Level.ADDR) // 4) * 4
    return MNValue(name, shape, dtype, parsed, location, address, size)


def run_kernel(
    emit: Callable[[KernelContext], None],
    inputs: Sequence[tuple[MNValue, NDArray[np.generic]]],
    outputs: Sequence[MNValue],
    tables: Sequence[tuple[MNValue, Table]] = (),
    seed: int = 0,
) -> Ran:
    """Emit, pack, run. Fails if the copies of a result differ; padding and unused memory hold junk before."""
    machine = Machine()
    _junk(machine, seed)
    for value, array in inputs:
        put(machine, value, array)
    for value, table in tables:
        put_table(machine, value, table)
    context = KernelContext(Builder())
    emit(context)
    packed = pack(context.builder.finish())
    machine.run(machine.load(packed.program))
    return Ran({value.name: get(machine, value) for value in outputs}, packed.program.steps, packed.stats.nops)


def _junk(machine: Machine, seed: int) -> None:
    """Random bits, infinities and huge numbers in both local memories and in L1BM and L2BM."""
    rng = np.random.default_rng(seed)
    odd = np.array([0x7F800000FF800000, 0x7F7FFFFF7F7FFFFF, 0xFFFFFFFFFFFFFFFF, 0x7149F2CAF149F2CA], np.uint64)
    for row in ROWS.values():
        machine.state.mem[:, row : row + LM_WORDS] = rng.choice(odd, (8, LM_WORDS, 1))
    machine.state.l1bm[:] = odd[1]
    machine.state.l2bm[:] = odd[1]


def _lm(machine: Machine, value: MNValue) -> NDArray[np.uint64]:
    """The value's long words as (L2B, address, L1B, MAB, PE), a view."""
    start = ROWS[value.location] + (value.address or 0)
    return machine.state.mem[:, start : start + value.size].reshape(8, value.size, 8, 16, 4)


def _map(value: MNValue) -> NDArray[np.int64]:
    """Flat element index as (L2B, address, L1B, MAB, PE, W), -1 for places without an element."""
    found = element_map(value.layout, value.shape, value.dtype.bits)[..., 0]
    return found.transpose(0, 5, 1, 2, 3, 4)


def put(machine: Machine, value: MNValue, array: NDArray[np.generic]) -> None:
    """Write a host array to every copy of the value."""
    index = _map(value)
    view = _elements(_lm(machine, value)[:, : index.shape[1]].copy(), value)
    flat = np.ascontiguousarray(array, HOST[value.dtype]).reshape(-1).view(view.dtype)
    view[index >= 0] = flat[index[index >= 0]]
    _lm(machine, value)[:, : index.shape[1]] = _long_words(view)


def put_table(machine: Machine, value: MNValue, table: Table) -> None:
    """Write a kernel's constants: contents[l2b, l1b, mab, pe, address]."""
    contents = table.contents.transpose(0, 4, 1, 2, 3)
    _lm(machine, value)[:, : contents.shape[1]] = contents


def get(machine: Machine, value: MNValue) -> NDArray[np.generic]:
    """Read a value and check that all its copies agree."""
    index = _map(value)
    view = _elements(_lm(machine, value)[:, : index.shape[1]].copy(), value)
    result = np.zeros(int(np.prod(value.shape, dtype=np.int64)), view.dtype)
    result[index[index >= 0]] = view[index >= 0]
    differing = view[index >= 0] != result[index[index >= 0]]
    assert not differing.any(), f"{value.name}: {int(differing.sum())} copies differ"
    return result.view(HOST[value.dtype]).reshape(value.shape)


def _elements(words: NDArray[np.uint64], value: MNValue) -> NDArray[np.unsignedinteger]:
    """Elements of long words along a new last axis, the most significant first."""
    if value.dtype.bits == 64:
        return words[..., None]
    return words.astype(">u8").reshape(*words.shape, 1).view(">u4").astype(np.uint32)


def _long_words(elements: NDArray[np.unsignedinteger]) -> NDArray[np.uint64]:
    if elements.dtype == np.uint64:
        return elements[..., 0]
    return np.ascontiguousarray(elements.astype(">u4")).view(">u8").astype(np.uint64)[..., 0]
