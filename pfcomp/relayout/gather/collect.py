"""Emission of gathers from a window in local memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pfcomp.ir.model import Location, MNValue
from pfcomp.isa.model import Address, MaskRef, Operand, Place
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.relayout.gather.passes import Gather
from pfcomp.relayout.gather.tables import CYCLES, FIELD_BITS, FIELDS, OTHER
from pfcomp.relayout.gather.wanted import WORDS

BATCH = 8
"""Vectors that are read before any is written where window and target share a memory (backend-movement.md 7.1)."""


def words(location: Location, addresses: Sequence[int], width: int, mask: int | None = None) -> Operand:
    """Four places of `width` words at word addresses; a short list repeats its last address."""
    a, b, c, d = (*addresses, *[addresses[-1]] * (CYCLES - len(addresses)))
    even = b - a == c - b == d - c >= 0 and (b - a) % width == 0
    address = Address(a, b - a) if even else Address(0, flat=(a, b, c, d))
    return Operand(operands.LM_PLACES[location], width, address, mask=None if mask is None else MaskRef(mask))


@dataclass(slots=True)
class Collector:
    """Takes items from windows by the plan's table of T and writes them to the target."""

    context: KernelContext
    target: MNValue
    table: MNValue | None
    constants: dict[int, Virtual] = field(default_factory=dict)

    def collect(self, window: Location, address: int, gathers: Sequence[Gather]) -> None:
        """Emit the gathers from the window at long word `address`."""
        busy = (window, None if self.table is None else self.table.location)
        size = BATCH if self.target.location in busy else 1
        for start in range(0, len(gathers), size):
            taken = [self._take(window, address, gather, late=size > 1) for gather in gathers[start : start + size]]
            for value, to in taken:
                if size > 1:
                    self.context.builder.op("lpassa", value, to=to)

    def _take(self, window: Location, address: int, gather: Gather, *, late: bool) -> tuple[Virtual, Operand]:
        base = WORDS * (self.target.address or 0)
        to = words(self.target.location, [base + word for word in gather.target], gather.width)
        if gather.source:
            source = words(window, [WORDS * address + word for word in gather.source], gather.width)
        else:
            mask = self._load(gather)
            to = replace(to, mask=None if mask is None else MaskRef(mask))
            source = Operand(Place.LM0, gather.width, Address(WORDS * address, indirect=True))
        return self.context.builder.op("lpassa", source, to=None if late else to), to

    def _load(self, gather: Gather) -> int | None:
        """Fill T for a gather, and the mask if it needs one."""
        if self.table is None:
            raise ValueError("a gather by table needs one")
        group, number = divmod(gather.table, FIELDS)
        source = operands.run(self.table.location, (self.table.address or 0) + CYCLES * group)
        op = self.context.builder.op
        index = (
            op("llsr", source, self._constant(FIELD_BITS * number), to="$t")
            if number
            else op("lpassa", source, to="$t")
        )
        if not gather.masked:
            return None
        mask = self.context.mask()
        op("land", index, self._constant(OTHER), to=f"$omr{mask}")
        return mask

    def _constant(self, value: int) -> Virtual:
        """A long word with a small number in its low word."""
        if value not in self.constants:
            both = self.context.builder.op(f'imm i"{value}"')
            self.constants[value] = both if value < OTHER else self.context.builder.op("llsr", both, self._constant(32))
        return self.constants[value]
