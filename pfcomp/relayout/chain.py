"""Several moves one after the other, with values in between that take turns in two places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pfcomp.ir.model import MNValue
from pfcomp.kernels.api import KernelContext, Scratch, Table
from pfcomp.relayout.api import MovePlan
from pfcomp.relayout.sharing import share_of, shared_scratch


@dataclass(frozen=True, eq=False, slots=True)
class ChainPlan:
    """An odd number of plans. `words` are the long words of the result of each but the last.

    Results of the first, third, ... lie in the target if `lent`, those of the others in scratch. The plans share their
    own scratch.
    """

    plans: tuple[MovePlan, ...]
    words: tuple[int, ...]
    lent: bool

    @property
    def steps(self) -> int:
        return sum(plan.steps for plan in self.plans)

    @property
    def bytes(self) -> int:
        return sum(plan.bytes for plan in self.plans)

    @property
    def tables(self) -> tuple[Table, ...]:
        return tuple(table for plan in self.plans for table in plan.tables)

    @property
    def table_words(self) -> tuple[int, ...]:
        return tuple(words for plan in self.plans for words in plan.table_words)

    @property
    def scratch(self) -> tuple[Scratch, ...]:
        holds = [Scratch(max(self.words[k::2])) for k in ((1,) if self.lent else (0, 1))]
        return (*holds, *self._shared())

    def _shared(self) -> tuple[Scratch, ...]:
        return shared_scratch(plan.scratch for plan in self.plans)

    def emit(
        self,
        context: KernelContext,
        source: MNValue,
        target: MNValue,
        scratch: Sequence[MNValue],
        tables: Sequence[MNValue],
    ) -> None:
        """Emit all plans."""
        holds = (target, scratch[0]) if self.lent else (scratch[0], scratch[1])
        shared, places = self._shared(), scratch[1 if self.lent else 2 :]
        values = (source, *(holds[k % 2] for k in range(len(self.words))), target)
        waiting = iter(tables)
        for plan, here, there in zip(self.plans, values[:-1], values[1:], strict=True):
            loaded = [next(waiting) for _ in plan.table_words]
            plan.emit(context, here, there, share_of(plan.scratch, shared, places), loaded)
