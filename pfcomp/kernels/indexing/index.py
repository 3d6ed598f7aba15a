"""From indices to T: negative ones count from the end, then the distance of two rows is taken into account."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.ir.model import DType
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Builder, Virtual
from pfcomp.kernels.lanes import IDS
from pfcomp.kernels.operands import WORDS
from pfcomp.layout import Subaxis

LOAD_OPS = 3
"""Operations from an index to T."""
LOCAL_OPS = 2
"""Operations from an index to that among the indices of a PE."""


@dataclass(slots=True)
class IndexEmitter:
    """Indices into an axis of `length` whose neighbours are 2 ** `shift` long words apart.

    If the axis has digits `holders` (slowest first) that are coordinates, every PE has only each so many-th index.
    """

    builder: Builder
    length: int
    shift: int
    holders: tuple[Subaxis, ...] = ()
    constants: dict[tuple[int, bool], Virtual] = field(default_factory=dict)
    numbers: dict[str, Virtual] = field(default_factory=dict)

    def constant(self, value: int, *, long: bool) -> Virtual:
        """A number in both words, or as a long integer."""
        if (value, long) not in self.constants:
            made = self.builder.op(f'imm i"{value}"')
            if long:
                made = self.builder.op("llsr", made, self.constant(32, long=False))
            self.constants[value, long] = made
        return self.constants[value, long]

    def normal(self, source: Operand, dtype: DType) -> Virtual:
        """Indices from 0 on: seen without sign, a negative index is more than itself plus the length."""
        letter = _letter(dtype)
        raised = self.builder.op(f"{letter}add", source, self.constant(self.length, long=letter == "l"))
        return self.builder.op(f"u{letter}min", source, raised)

    def local(self, index: Virtual, dtype: DType) -> Virtual:
        """The number of an index among those of the PE; huge where the PE does not have it.

        The fast digits are compared with the PE's own: what differs is rotated to the top.
        """
        if not self.holders:
            return index
        letter, width = ("l", 64) if dtype is DType.LONG else ("i", 32)
        if letter not in self.numbers:
            self.numbers[letter] = self._own(letter)
        differing = self.builder.op(f"{letter}xor", index, self.numbers[letter])
        return self.builder.op(f"{letter}bsl", differing, self.constant(width - self._bits(), long=False))

    def _bits(self) -> int:
        return sum(_log2(sub.size) for sub in self.holders)

    def _own(self, letter: str) -> Virtual:
        """The value of the fast digits for the indices that a PE has."""
        op, found, position = self.builder.op, self.constant(0, long=False), 0
        for sub in reversed(self.holders):
            part = op(f"{letter}passa", IDS[sub.level])
            if sub.stride > 1:
                part = op(f"{letter}lsr", part, self.constant(_log2(sub.stride), long=False))
            part = op(f"{letter}and", part, self.constant(sub.size - 1, long=letter == "l"))
            part = op(f"{letter}lsl", part, self.constant(position, long=False))
            found = op(f"{letter}or", found, part)
            position += _log2(sub.size)
        return found

    def load(self, index: Virtual, dtype: DType) -> Virtual:
        """T becomes the word offset of the row; Int indices are taken from the low word. Returns T's value."""
        letter = _letter(dtype)
        count = self.constant(self.shift + WORDS.bit_length() - 1, long=False)
        return self.builder.op(f"{letter}lsl", index, count, to="$t")

    def load_high(self, loaded: Virtual) -> None:
        """T becomes what `load` has made of the high words."""
        self.builder.op("llsr", loaded, self.constant(32, long=False), to="$t")


def _letter(dtype: DType) -> str:
    """The letter of operations on indices."""
    return "l" if dtype is DType.LONG else "i"


def _log2(power: int) -> int:
    return power.bit_length() - 1
