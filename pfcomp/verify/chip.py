"""The emulated chip one task at a time: every task is a program of its own, and memory stays between them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator import Machine
from pfcomp.ir.elements import CARRIERS
from pfcomp.ir.model import Location, MNGraph, MNValue
from pfcomp.isa.pack import Builder, pack
from pfcomp.kernels.api import KernelContext
from pfcomp.layout.image import to_image
from pfcomp.plan.emit import TaskEmitter
from pfcomp.plan.model import Schedule
from pfcomp.plan.tasks import SPILL, Task

Array = NDArray[np.generic]


class TaskChip:
    """A machine whose DRAM holds the tensors of a schedule at the addresses of the app."""

    def __init__(self, schedule: Schedule, contents: Mapping[str, Array]) -> None:
        self.schedule, self.machine = schedule, Machine()
        self.context = KernelContext(Builder())
        self.emitter = TaskEmitter(schedule.graph, self.context, schedule.float_dtype)
        load_dram(self.machine, schedule.graph, contents)

    def run(self, task: Task) -> int:
        """Run one task alone; returns its steps."""
        self.context.builder = Builder()
        self.emitter.emit(task)
        packed = pack(self.context.builder.finish())
        self.machine.run(self.machine.load(packed.program))
        return packed.program.steps

    def local_values(self, names: tuple[str, ...]) -> list[MNValue]:
        """Those of the named values that lie in local memory."""
        values = self.schedule.graph.values
        return [values[n] for n in names if n in values and values[n].location is not Location.DRAM]


def load_dram(machine: Machine, graph: MNGraph, contents: Mapping[str, Array]) -> None:
    """Put inputs, states and constants where the app expects them."""
    for name in (*graph.inputs, *graph.states, *graph.constants):
        if not name.endswith(SPILL):
            _load(machine, graph.values[name], contents[name])


def _load(machine: Machine, value: MNValue, array: Array) -> None:
    host = np.uint64 if array.dtype == np.uint64 else CARRIERS[value.dtype]  # tables are long words as they are
    image = to_image(np.asarray(array, host).reshape(value.shape), value.layout)
    for group in range(4):
        machine.dram.write(group, value.address or 0, image[group])
