"""From indices to T: negative ones count from the end, then the distance of two rows is taken into account."""

from __future__ import annotations

from dataclasses import dataclass, field

from pfcomp.ir.model import DType
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Builder, Virtual
from pfcomp.kernels.operands import WORDS

LOAD_OPS = 3
"""Operations from an index to T."""


@dataclass(slots=True)
class IndexEmitter:
    """Indices into an axis of `length` whose neighbours are 2 ** `shift` long words apart."""

    builder: Builder
    length: int
    shift: int
    constants: dict[tuple[int, bool], Virtual] = field(default_factory=dict)

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
        long = dtype is DType.LONG
        letter = "l" if long else "i"
        raised = self.builder.op(f"{letter}add", source, self.constant(self.length, long=long))
        return self.builder.op(f"u{letter}min", source, raised)

    def load(self, index: Virtual, dtype: DType) -> Virtual:
        """T becomes the word offset of the row; Int indices are taken from the low word. Returns T's value."""
        letter = "l" if dtype is DType.LONG else "i"
        count = self.constant(self.shift + WORDS.bit_length() - 1, long=False)
        return self.builder.op(f"{letter}lsl", index, count, to="$t")

    def load_high(self, loaded: Virtual) -> None:
        """T becomes what `load` has made of the high words."""
        self.builder.op("llsr", loaded, self.constant(32, long=False), to="$t")
