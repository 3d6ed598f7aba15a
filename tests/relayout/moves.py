"""Runs one move on the emulator and compares every word of both local memories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator import Machine
from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.isa.pack import Builder, pack
from pfcomp.kernels.api import KernelContext
from pfcomp.layout import Layout
from pfcomp.layout.places import element_map
from pfcomp.relayout.api import Form, MovePlan
from pfcomp.verify import local
from tests.kernels.harness import held, put_table

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Case:
    """A move: target element i is source element index[i]; `places` are the local memories of source and target."""

    source: tuple[int, ...]
    source_layout: str
    target: tuple[int, ...]
    target_layout: str
    index: NDArray[np.int64] | None = None
    dtype: DType = DType.INT
    places: tuple[Location, Location] = (Location.LM0, Location.LM1)

    @property
    def forms(self) -> tuple[Form, Form]:
        bits = self.dtype.bits
        return (
            Form(self.source, bits, Layout.parse(self.source_layout)),
            Form(self.target, bits, Layout.parse(self.target_layout)),
        )


class Memory:
    """Hands out addresses in both local memories, with a gap behind every value."""

    def __init__(self) -> None:
        self.next = {Location.LM0: 4, Location.LM1: 8}

    def place(self, name: str, words: int, location: Location | None) -> MNValue:
        where = location or min(self.next, key=lambda place: self.next[place])
        address = self.next[where]
        self.next[where] += -(-words // 4) * 4 + 4
        return MNValue(name, (), DType.LONG, Layout(()), where, address, -(-words // 4) * 4)


def run_move(plan: MovePlan, case: Case) -> int:
    """Check a plan; returns the steps of the packed program."""
    memory = Memory()
    source = _value(memory, "x", case.source, case.source_layout, case, 0)
    target = _value(memory, "y", case.target, case.target_layout, case, 1)
    scratch = [memory.place(f"s{k}", one.words, one.location) for k, one in enumerate(plan.scratch)]
    tables = [memory.place(f"t{k}", one.contents.shape[-1], None) for k, one in enumerate(plan.tables)]
    machine = Machine()
    rng = np.random.default_rng(1)
    words = max(memory.next.values()) + 8
    for row in local.ROWS.values():
        machine.state.mem[:, row : row + words] = rng.integers(0, 1 << 62, (8, words, 1), np.uint64)
    machine.state.l1bm[:] = 0x7F800000FF800000
    machine.state.l2bm[:] = 0xFFF0000000000000
    host = np.int64 if case.dtype.bits == 64 else np.int32
    array = np.arange(int(np.prod(case.source)), dtype=host).reshape(case.source) + 1000
    local.write(machine, source, array)
    for value, table in zip(tables, plan.tables, strict=True):
        put_table(machine, value, table)
    before = {place: _memory(machine, place, words).copy() for place in local.ROWS}
    context = KernelContext(Builder())
    plan.emit(context, source, target, scratch, tables)
    packed = pack(context.builder.finish())
    machine.run(machine.load(packed.program))
    _compare(machine, before, target, scratch, array, case)
    return packed.program.steps


def _value(memory: Memory, name: str, shape: tuple[int, ...], layout: str, case: Case, number: int) -> MNValue:
    value = held(name, shape, layout, case.places[number], 0, case.dtype)
    placed = memory.place(name, value.size, value.location)
    return held(name, shape, layout, value.location, placed.address or 0, case.dtype)


def _memory(machine: Machine, place: Location, words: int) -> Words:
    """The first long words of a local memory as (L2B, address, L1B, MAB, PE)."""
    return machine.state.mem[:, local.ROWS[place] : local.ROWS[place] + words].reshape(8, words, 8, 16, 4)


def _compare(
    machine: Machine,
    before: dict[Location, Words],
    target: MNValue,
    scratch: list[MNValue],
    array: NDArray[np.generic],
    case: Case,
) -> None:
    """All copies of the target are right; what it does not own and what is to be kept is unchanged."""
    for place, old in before.items():
        changed = np.zeros(old.shape[1], bool)
        for value in [target, *scratch]:
            if value.location is place:
                changed[value.address : (value.address or 0) + value.size] = True
        kept = _memory(machine, place, old.shape[1])[:, ~changed] == old[:, ~changed]
        assert kept.all(), "memory of others was changed"
    found = element_map(target.layout, target.shape, target.dtype.bits)[..., 0].transpose(0, 5, 1, 2, 3, 4)
    start = target.address or 0
    area = slice(start, start + found.shape[1])
    now = local.elements_of(_memory(machine, target.location, area.stop)[:, area], target.dtype.bits)
    old = local.elements_of(before[target.location][:, area], target.dtype.bits)
    index = np.arange(int(np.prod(case.target))) if case.index is None else case.index.reshape(-1)
    wanted = np.where(found >= 0, index[np.maximum(found, 0)], -2)
    flat = array.reshape(-1).view(now.dtype)
    right = np.where(wanted >= 0, flat[np.maximum(wanted, 0)], old)
    assert (now == right)[wanted >= -1].all(), f"{int((now != right)[wanted >= -1].sum())} places are wrong"
