"""Runs one kernel on the emulator: operands are put into local memory, junk everywhere else, all copies read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator import Machine
from pfcomp.ir.elements import CARRIERS
from pfcomp.ir.model import LM_WORDS, DType, Location, MNValue
from pfcomp.isa.pack import Builder, pack
from pfcomp.kernels.api import KernelContext, Table
from pfcomp.layout import Layout
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.verify import local

HOST = {**{dtype: CARRIERS[dtype].type for dtype in DType}, DType.BOOL: np.int32}
"""Types for making operands; words of truth values are signed, so that references do not wrap around."""


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
    junk(machine, seed)
    for value, array in inputs:
        local.write(machine, value, array)
    for value, table in tables:
        put_table(machine, value, table)
    context = KernelContext(Builder())
    emit(context)
    packed = pack(context.builder.finish())
    machine.run(machine.load(packed.program))
    return Ran({value.name: get(machine, value) for value in outputs}, packed.program.steps, packed.stats.nops)


def junk(machine: Machine, seed: int) -> None:
    """Random bits, infinities and huge numbers in both local memories and in L1BM and L2BM."""
    rng = np.random.default_rng(seed)
    odd = np.array([0x7F800000FF800000, 0x7F7FFFFF7F7FFFFF, 0xFFFFFFFFFFFFFFFF, 0x7149F2CAF149F2CA], np.uint64)
    for row in local.ROWS.values():
        machine.state.mem[:, row : row + LM_WORDS] = rng.choice(odd, (8, LM_WORDS, 1))
    machine.state.l1bm[:] = odd[1]
    machine.state.l2bm[:] = odd[1]


def put_table(machine: Machine, value: MNValue, table: Table) -> None:
    """Write a kernel's constants: contents[l2b, l1b, mab, pe, address]."""
    contents = table.contents.transpose(0, 4, 1, 2, 3)
    local.long_words(machine, value, contents.shape[1])[:] = contents


def get(machine: Machine, value: MNValue) -> NDArray[np.generic]:
    """Read a value and check that all its copies agree."""
    found, differing = local.copies(machine, value)
    assert not differing, f"{value.name}: {differing} copies differ"
    return found
