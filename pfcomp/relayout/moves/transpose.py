"""Exchanges of a MAB's PE and word places with address bits through the matrix registers (M4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        size = len(self.universe.sizes)
        rows, columns = (bit_rows(places, self.which, size) for places in (self.after, self.before))
        letter = "f" if self.words else "d"
        for number, other in enumerate(combinations(self.universe, by_stride(self._others(), target))):
            register = REGISTERS[number % 2]
            taken = np.where(valid(self.universe, other + rows)[:, None], other + rows, other)
            read = source.addresses(taken).tolist()
            write = self._written(other + columns, target)
            for start in range(0, len(read), 4):
                vector = operands.vector(source.location, read[start : start + 4])
                context.builder.op(f"{letter}mwrite", vector, to=f"$l{register}{start}")
            for start in range(0, len(write), 4):
                if any(a is not None for a in write[start : start + 4]):
                    to = lanes.target(target.location, write[start : start + 4])
                    context.builder.op(f"{letter}mread", f"$l{register}{start}", to=to)

    def _written(self, values: Values, target: Store) -> list[int | None]:
        """Where each column goes; None for columns that no item tells from another or that do not exist."""
        copies = sum(1 << position for position, place in enumerate(self.which) if self.before[place] == COPY)
        exists = valid(self.universe, values)
        found = target.addresses(values).tolist()
        return [a if exists[c] and not c & copies else None for c, a in enumerate(found)]
