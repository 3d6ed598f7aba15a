"""Keeping one of several copies: address items become spatial by reading at addresses that differ by PE (M3)."""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.ir.model import Location
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.operands import WORDS
from pfcomp.relayout.moves import lanes
from pfcomp.relayout.moves.model import PLACES, Places, Store, Universe, by_stride, combinations, count

POINTER_STEPS = 6
BATCH = 32
"""Vectors that wait in registers where reads and writes of LM1 have to take turns."""


@dataclass(frozen=True, slots=True)
class Select:
    """Places that held copies (PE and above) take items of the address."""

    universe: Universe
    before: Places
    after: Places

    @property
    def steps(self) -> int:
        return POINTER_STEPS + -(-count(self.universe, self.universe.address_items(self.after)) // 4)

    @property
    def exact(self) -> bool:
        return True

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        builder = context.builder
        pointer = lanes.Pointer(builder, source.location)
        identity = lanes.IdentityWords(builder)
        terms = [
            lanes.Term(*PLACES[place], WORDS * source.strides[item])
            for place, item in enumerate(self.after)
            if item != self.before[place]
        ]
        values = combinations(self.universe, by_stride(self.universe.address_items(self.after), target))
        reads, writes = source.addresses(values).tolist(), target.addresses(values).tolist()
        shifted = source.location is target.location is Location.LM1
        for first in range(0, len(reads), 4 * BATCH if shifted else len(reads)):
            identity.total(terms, pointer.register)
            starts = range(first, min(first + 4 * BATCH, len(reads)) if shifted else len(reads), 4)
            if shifted:
                held = [builder.op("lpassa", pointer.at(reads[start : start + 4])) for start in starts]
                pointer.reset()
                for start, value in zip(starts, held, strict=True):
                    builder.op("lpassa", value, to=lanes.target(target.location, writes[start : start + 4]))
            else:
                for start in starts:
                    to = lanes.target(target.location, writes[start : start + 4])
                    builder.op("lpassa", pointer.at(reads[start : start + 4]), to=to)
                pointer.reset()
