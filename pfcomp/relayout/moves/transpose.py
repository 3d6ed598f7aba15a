"""Exchanges of a MAB's PE and word places with address bits through the matrix registers (M4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pfcomp.ir.model import Location
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.relayout.moves import lanes
from pfcomp.relayout.moves.model import (
    COPY,
    PE,
    WORD,
    Places,
    Store,
    Universe,
    Values,
    bit_rows,
    by_stride,
    combinations,
    count,
    valid,
)

WAITING = 32
"""Vectors that wait in registers at most."""

REGISTERS = "xy"
"""Used in turn, so that one block is written while the one before it is read."""


@dataclass(frozen=True, slots=True)
class Transpose:
    """The PE places (and, with `words`, the word place) take items of the address or copies; theirs go there.

    A block is a matrix with a row for every new coordinate and a column for every old one: 4×4 long words, or 8×8
    words. Copies are rows written repeatedly and columns left unread.
    """

    universe: Universe
    before: Places
    after: Places
    words: bool

    @property
    def which(self) -> tuple[int, ...]:
        """The places that change, the fastest first."""
        return WORD + PE if self.words else PE

    @property
    def steps(self) -> int:
        blocks = count(self.universe, self._others())
        if not self.words:
            return blocks + 1
        return 2 * blocks + 2

    @property
    def exact(self) -> bool:
        return True

    def _others(self) -> tuple[int, ...]:
        return tuple(i for i in self.universe.address_items(self.before) if i not in self.after)

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        """Within one local memory reads and writes take turns, so results wait in registers, a batch at a time."""
        size = len(self.universe.sizes)
        rows, columns = (bit_rows(places, self.which, size) for places in (self.after, self.before))
        waiting: list[tuple[Virtual, Operand]] = []
        for number, other in enumerate(combinations(self.universe, by_stride(self._others(), target))):
            register = REGISTERS[number % 2]
            taken = np.where(valid(self.universe, other + rows)[:, None], other + rows, other)
            self._write(context, source, register, source.addresses(taken).tolist())
            waiting += self._read(context, register, target, self._written(other + columns, target), source.location)
            if len(waiting) >= WAITING:
                _flush(context, waiting)
        _flush(context, waiting)

    def _write(self, context: KernelContext, source: Store, register: str, reads: list[int]) -> None:
        for start in range(0, len(reads), 4):
            vector = operands.vector(source.location, reads[start : start + 4])
            context.builder.op(f"{self._letter}mwrite", vector, to=f"$l{register}{start}")

    def _read(
        self, context: KernelContext, register: str, target: Store, writes: list[int | None], busy: Location
    ) -> list[tuple[Virtual, Operand]]:
        """Read the columns into the target; returns what still has to be written because the memory is `busy`."""
        waiting: list[tuple[Virtual, Operand]] = []
        for start in range(0, len(writes), 4):
            here = writes[start : start + 4]
            if any(a is not None for a in here):
                to = lanes.target(target.location, here)
                later = target.location is busy
                value = context.builder.op(f"{self._letter}mread", f"$l{register}{start}", to=None if later else to)
                waiting += [(value, to)] if later else []
        return waiting

    @property
    def _letter(self) -> str:
        return "f" if self.words else "d"

    def _written(self, values: Values, target: Store) -> list[int | None]:
        """Where each column goes; None for columns that no item tells from another or that do not exist."""
        copies = sum(1 << position for position, place in enumerate(self.which) if self.before[place] == COPY)
        exists = valid(self.universe, values)
        found = target.addresses(values).tolist()
        return [a if exists[c] and not c & copies else None for c, a in enumerate(found)]


def _flush(context: KernelContext, waiting: list[tuple[Virtual, Operand]]) -> None:
    for value, to in waiting:
        context.builder.op("lpassa", value, to=to)
    waiting.clear()
