"""A stream of operations in which a result can be written to memory by the very operation that computes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Builder, Virtual, neg
from pfcomp.kernels.lanes import Constants

CONSTANT_LIFE = 16
"""Vectors for which a constant keeps its register; then it is loaded anew, which bounds register lifetimes."""


@dataclass(slots=True, eq=False)
class Result:
    """What an operation computes; the value is there once the operation has been emitted."""

    value: Virtual | None = None


Value: TypeAlias = Operand | Virtual | Result


class Stream:
    """Holds back the last operation until it is known where its result goes."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.constants = Constants(builder)
        self._vectors = 0
        self._held: tuple[Result, str, tuple[Operand | Virtual, ...]] | None = None

    def begin_vector(self) -> None:
        """Must be called before each vector."""
        self.flush()
        if self._vectors % CONSTANT_LIFE == 0:
            self.constants = Constants(self.builder)
        self._vectors += 1

    def op(self, mnemonic: str, *operands: Value) -> Result:
        """One operation."""
        self.flush()
        result = Result()
        self._held = (result, mnemonic, tuple(map(plain, operands)))
        return result

    def twice(self, word: int) -> Virtual:
        """A long word that holds `word` two times."""
        return self.pair(word, word)

    def pair(self, high: int, low: int) -> Virtual:
        """A long word of two words."""
        self.flush()
        return self.constants.pair(high, low)

    def negated(self, x: Value) -> Operand | Virtual:
        """The value with its sign flipped, for an operand of a MAU operation."""
        self.flush()
        found = plain(x)
        return neg(found) if isinstance(found, Virtual) else replace(found, negate=not found.negate)

    def store(self, x: Value, target: Operand) -> None:
        """Write a value to memory."""
        if self._held is not None and x is self._held[0]:
            self.flush(target)
        else:
            self.flush()
            self.builder.op("lpassa", plain(x), to=target)

    def flush(self, to: Operand | None = None) -> None:
        """Emit the operation that was held back."""
        if self._held is not None:
            result, mnemonic, operands = self._held
            self._held = None
            result.value = self.builder.op(mnemonic, *operands, to=to)


def plain(x: Value) -> Operand | Virtual:
    """The operand or register of a value that has been emitted."""
    if not isinstance(x, Result):
        return x
    if x.value is None:
        raise ValueError("a result was used before it was emitted")
    return x.value
