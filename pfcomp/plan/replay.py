"""An independent check of local memory: tasks are replayed on a map that remembers what every long word holds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import InternalError
from pfcomp.ir.model import LM_WORDS, Location, MNValue
from pfcomp.plan.linear import Linear
from pfcomp.plan.memory import Placement
from pfcomp.plan.tasks import Task

NOTHING = -1


def verify_places(linear: Linear, placement: Placement, budget: int = LM_WORDS) -> None:
    """Raise InternalError PF0405 if a task reads a long word that does not hold the contents it wants any more."""
    _Replay(linear, placement, budget).run()


class _Replay:
    def __init__(self, linear: Linear, placement: Placement, budget: int) -> None:
        self.linear, self.placement, self.budget = linear, placement, budget
        self.numbers = {place: k * LM_WORDS for k, place in enumerate(linear.places)}
        self.memory = {lm: np.full(LM_WORDS, NOTHING, np.int64) for lm in (Location.LM0, Location.LM1)}
        self.dram = {(p.dram, p.attributes): name for name, p in linear.places.items() if p.dram is not None}

    def run(self) -> None:
        for task in self.placement.tasks:
            if task.node.op == "Upload":
                self._check(task, task.node.inputs)
                self.dram[task.node.outputs[0], task.node.attributes] = self._home(task.node.inputs[0])[0]
            elif task.node.op == "Download":
                self._fill(task, task.node.outputs, self.dram[task.node.inputs[0], task.node.attributes])
            else:
                self._check(task, (*task.node.inputs, *task.tables))
                self._fill(task, (*task.scratch, *task.node.outputs))

    def _home(self, name: str) -> tuple[str, int]:
        """The place that a value belongs to, and its offset; versions of a value have one home."""
        return self.linear.home[name if name in self.linear.home else name.rpartition("#")[0]]

    def _words(self, value: MNValue) -> NDArray[np.int64]:
        address = value.address or 0
        if address < 0 or address + value.size > self.budget:
            raise InternalError("PF0405", f"{value.name} at {value.location}[{address}] does not lie inside the memory")
        return self.memory[value.location][address : address + value.size]

    def _contents(self, place: str, offset: int, count: int) -> NDArray[np.int64]:
        return self.numbers[place] + offset + np.arange(count)

    def _check(self, task: Task, names: Iterable[str]) -> None:
        for name in names:
            value = self.placement.values.get(name)
            if value is None:
                continue
            found = self._words(value)
            wrong = np.flatnonzero(found != self._contents(*self._home(name), value.size))
            if len(wrong):
                where = f"{value.location}[{(value.address or 0) + int(wrong[0])}]"
                raise InternalError("PF0405", f"{task.node.name} reads {name}, but {where} holds something else")

    def _fill(self, task: Task, names: Iterable[str], contents: str | None = None) -> None:
        for name in names:
            if name in self.placement.values:
                value, (place, offset) = self.placement.values[name], self._home(name)
                wanted = self.linear.places[place].location
                if wanted not in (None, value.location):
                    raise InternalError("PF0405", f"{task.node.name} needs {name} in {wanted}")
                self._words(value)[:] = self._contents(contents or place, offset, value.size)
