"""Operands that lie transposed: matrix registers turn them while they are read (backend-kernels.md 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pfcomp.ir.model import MNValue
from pfcomp.isa.pack import Builder, Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.contraction.modes import Mode

WORD_BITS = 32


@dataclass(slots=True)
class Turner:
    """Reads tiles with the own axis in PEs and words as rows (or vectors) with the reduced axis there.

    `registers` gives the next matrix register. Passes over single words find what the first one has read: `seen` keeps
    the tiles of the chunk in hand.
    """

    builder: Builder
    mode: Mode
    registers: Iterator[str]
    seen: dict[tuple[str, int], list[Virtual]] = field(default_factory=dict)

    def rows(self, value: MNValue, address: int, offsets: Sequence[int], word: int | None) -> list[Virtual]:
        """Normalised rows, four in each result, of the tile with its reduced indices at `address` plus `offsets`."""
        key = value.name, address
        if not word:
            self.seen[key] = self._turned(value, address, offsets)
            return self.seen[key]
        half = self.builder.op(f'imm ui"{WORD_BITS}"')
        return [self.builder.op("lbsl", row, half) for row in self.seen.pop(key)]

    def _turned(self, value: MNValue, address: int, offsets: Sequence[int]) -> list[Virtual]:
        register = f"$l{next(self.registers)}"
        for start in range(0, self.mode.depth, 4):
            source = operands.vector(value.location, [address + offset for offset in offsets[start : start + 4]])
            self.builder.op(self.mode.write, source, to=f"{register}{start}")
        return [
            self.builder.op(self.mode.normalise, self.builder.op(self.mode.read, f"{register}{start}"))
            for start in range(0, self.mode.rows, 4)
        ]
