"""Several moves between a source, a target and a value in between, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from pfcomp.ir.model import MNValue
from pfcomp.kernels.api import KernelContext, Scratch, Table
from pfcomp.relayout.api import MovePlan
from pfcomp.relayout.sharing import share_of, shared_scratch


class Value(IntEnum):
    """What a leg reads or writes."""

    SOURCE = 0
    TARGET = 1
    BETWEEN = 2


@dataclass(frozen=True, slots=True)
class Leg:
    """One move."""

    plan: MovePlan
    source: Value
    target: Value


@dataclass(frozen=True, eq=False, slots=True)
class StagedPlan:
    """Legs in order; they share their scratch. The value in between takes `between` long words, 0 if there is none."""

    legs: tuple[Leg, ...]
    between: int = 0

    @property
    def steps(self) -> int:
        return sum(leg.plan.steps for leg in self.legs)

    @property
    def bytes(self) -> int:
        return sum(leg.plan.bytes for leg in self.legs)

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(table for leg in self.legs for table in leg.plan.tables)

    @property
    def table_words(self) -> tuple[int, ...]:
        return tuple(words for leg in self.legs for words in leg.plan.table_words)

    @property
    def scratch(self) -> tuple[Scratch, ...]:
        return (Scratch(self.between), *self._shared()) if self.between else self._shared()

    def _shared(self) -> tuple[Scratch, ...]:
        return shared_scratch(leg.plan.scratch for leg in self.legs)

    def emit(
        self,
        context: KernelContext,
        source: MNValue,
        target: MNValue,
        scratch: Sequence[MNValue],
        tables: Sequence[MNValue],
    ) -> None:
        """Emit all legs."""
        values = {Value.SOURCE: source, Value.TARGET: target}
        if self.between:
            values[Value.BETWEEN] = scratch[0]
        shared, places = self._shared(), scratch[1:] if self.between else scratch
        waiting = iter(tables)
        for leg in self.legs:
            loaded = [next(waiting) for _ in leg.plan.table_words]
            own = share_of(leg.plan.scratch, shared, places)
            leg.plan.emit(context, values[leg.source], values[leg.target], own, loaded)
