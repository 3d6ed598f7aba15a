"""Emission of gathers from a window in local memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pfcomp.ir.model import Location, MNValue
from pfcomp.isa.model import MaskRef, Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.relayout.gather.passes import Gather
from pfcomp.relayout.gather.tables import CYCLES, FIELD_BITS, FIELDS, OTHER
from pfcomp.relayout.spots import WORDS

BATCH = 8
"""Vectors that are read before any is written where window and target share a memory (backend-movement.md 7.1)."""


@dataclass(slots=True)
class Collector:
    """Takes items from windows by the plan's table of T and writes them to the target."""

    context: KernelContext
    target: MNValue
    table: MNValue | None
    constants: dict[int, Virtual] = field(default_factory=dict)
    loaded: tuple[int, int] = (-1, -1)
    mask: int = 0

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
        to = operands.words(self.target.location, [base + word for word in gather.target], gather.width)
        source = operands.words(window, [WORDS * address + word for word in gather.source], gather.width)
        if gather.table >= 0 and source.address is not None:
            self._load(gather)
            source = replace(source, address=replace(source.address, indirect=True))
            to = replace(to, mask=MaskRef(self.mask)) if gather.masked else to
        return self.context.builder.op("lpassa", source, to=None if late else to), to

    def _load(self, gather: Gather) -> None:
        """Fill T for a gather, and the mask if it needs one, unless they are as they should be."""
        if (gather.table, gather.tag) == self.loaded:
            return
        self.loaded = (gather.table, gather.tag)
        op = self.context.builder.op
        group, number = divmod(gather.table, FIELDS) if gather.tag < 0 else (gather.table, 0)
        shift = (self._constant(FIELD_BITS * number),) if number else ()
        index = op("llsr" if shift else "lpassa", self._vector(group), *shift, to="$t")
        if not gather.masked:
            return
        self.mask = self.context.mask()
        if gather.tag < 0:
            op("land", index, self._constant(OTHER), to=f"$omr{self.mask}")
        else:
            differing = op("lxor", index, self._constant(gather.tag << FIELD_BITS))
            op("llsr", differing, self._constant(FIELD_BITS), to=f"$omr{self.mask}")

    def _vector(self, group: int) -> Operand:
        """Four long words of the table."""
        if self.table is None:
            raise ValueError("a gather by table needs one")
        return operands.run(self.table.location, (self.table.address or 0) + CYCLES * group)

    def _constant(self, value: int) -> Virtual:
        """A long word with a number in its low word; a shift count may be in both, only its low bits matter."""
        if value not in self.constants:
            both = self.context.builder.op(f'imm i"{value}"')
            self.constants[value] = (
                both if 0 < value < 64 else self.context.builder.op("llsr", both, self._constant(32))
            )
        return self.constants[value]
