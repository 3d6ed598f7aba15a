"""Several moves between a source, a target and a value in between, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from pfcomp.ir.model import Location, MNValue
from pfcomp.kernels.api import KernelContext, Scratch, Table
from pfcomp.relayout.api import MovePlan


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
        own = [Scratch(words, location) for location, sizes in self._shared().items() for words in sizes]
        return (Scratch(self.between), *own) if self.between else tuple(own)

    def _shared(self) -> dict[Location | None, list[int]]:
        """The pieces of the legs' scratch by memory, the largest first."""
        most: dict[Location | None, list[int]] = {}
        for leg in self.legs:
            for location, order in _by_memory(leg.plan).items():
                sizes = [leg.plan.scratch[number].words for number in order]
                others = most.get(location, [])
                length = max(len(sizes), len(others))
                both = zip(*(one + [0] * (length - len(one)) for one in (sizes, others)), strict=True)
                most[location] = [max(pair) for pair in both]
        return most

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
        pieces = iter(scratch[1:] if self.between else scratch)
        own = {location: [next(pieces) for _ in sizes] for location, sizes in self._shared().items()}
        waiting = iter(tables)
        for leg in self.legs:
            loaded = [next(waiting) for _ in leg.plan.table_words]
            orders = _by_memory(leg.plan)
            taken = {number: own[location][k] for location, order in orders.items() for k, number in enumerate(order)}
            lent = [taken[number] for number in range(len(taken))]
            leg.plan.emit(context, values[leg.source], values[leg.target], lent, loaded)


def _by_memory(plan: MovePlan) -> dict[Location | None, list[int]]:
    """The numbers of a plan's pieces of scratch by memory, the largest first."""
    found: dict[Location | None, list[int]] = {}
    for number, one in enumerate(plan.scratch):
        found.setdefault(one.location, []).append(number)
    return {location: sorted(order, key=lambda k: -plan.scratch[k].words) for location, order in found.items()}
