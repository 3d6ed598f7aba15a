"""Masks that select lanes by bits of their coordinates, each computed once."""

from __future__ import annotations

from pfcomp.isa.pack import Virtual
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.elementwise import immediate
from pfcomp.kernels.lanes import IDS
from pfcomp.layout import Level


class Masks:
    """Valid as long as nobody else takes mask register entries."""

    def __init__(self, context: KernelContext) -> None:
        self.context = context
        self._entries: dict[tuple[tuple[Level, int], ...] | tuple[Level, int, int], int] = {}

    def equal(self, level: Level, bits: int, value: int) -> str:
        """Zero-flush suffix that keeps the lanes whose coordinate has `value` in the places `bits`."""
        key = (level, bits, value)
        if key not in self._entries:
            entry = self._entries[key] = self.context.mask()
            field = self._field(level, bits)
            self.context.builder.op("ixor", field, self._word(value), to=f"$omr{entry}")
        return f"/$imr{self._entries[key]}"

    def first_copies(self, bits: tuple[tuple[Level, int], ...]) -> str:
        """Zero-flush suffix that keeps the lanes in which all these bits of the coordinates are 0."""
        if bits not in self._entries:
            entry = self._entries[bits] = self.context.mask()
            total = self._field(*bits[0])
            for level, more in bits[1:]:
                total = self.context.builder.op("ior", total, self._field(level, more))
            self.context.builder.op("ipassa", total, to=f"$omr{entry}")
        return f"/$imr{self._entries[bits]}"

    def _field(self, level: Level, bits: int) -> Virtual:
        return self.context.builder.op("iand", IDS[level], self._word(bits))

    def _word(self, bits: int) -> Virtual:
        return self.context.builder.op(immediate(bits))
