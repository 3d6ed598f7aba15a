"""What a recipe may use: one chip operation per call on one vector (four long words per PE).

A vector of a 32-bit type has two elements in each long word, one of a 64-bit type has one. Facts on the operations are
in isa.md 9 (ALU) and 10 (MAU), on masks in isa.md 7.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from pfcomp.isa.model import Operand, Place
from pfcomp.kernels.recipes.values import Constant, Value, both, double, long, single

SIGN = 0x80000000
SIGN_BITS = Operand(Place.MSB1)
"""The id input `$msb1`: only the sign bit set; valid only as the first operand of an ALU operation."""

Attribute: TypeAlias = int | float | str | tuple[int, ...]
Attributes: TypeAlias = Mapping[str, Attribute]


Condition: TypeAlias = Callable[[bool], tuple[int, bool]]
"""Emits a mask of the elements for which a condition holds (true) or does not; the other one if that is cheaper.

Returns the mask and whether it tells where the condition holds.
"""


class Emitter(ABC):
    """Operations on values. A mask is the number of an entry, valid until `MASK_ENTRIES` others were made."""

    @abstractmethod
    def op(self, mnemonic: str, *operands: Value, keep: int | None = None) -> Value:
        """Emit an operation and return its result; elements whose bit in the mask `keep` is 0 become 0."""

    @abstractmethod
    def flagged(self, mnemonic: str, *operands: Value) -> tuple[Value, int]:
        """Emit an operation; its result, and a mask of its flags."""

    @abstractmethod
    def negated(self, value: Value) -> Value:
        """The value with its sign flipped on a MAU input port: costs nothing, valid only as a MAU operand."""

    @abstractmethod
    def widened(self, value: Value) -> Value:
        """The single in the upper word, read as a double by a MAU operand."""

    def flag(self, mnemonic: str, *operands: Value) -> int:
        """A mask of the flags of an operation."""
        return self.flagged(mnemonic, *operands)[1]

    # constants

    def f(self, number: float) -> Value:
        """A single-precision constant."""
        return single(number)

    def word(self, bits: int) -> Value:
        """A 32-bit constant."""
        return both(bits)

    def d(self, number: float) -> Value:
        """A double-precision constant."""
        return double(number)

    def l(self, number: int) -> Value:  # noqa: E743 - the chip's letter for 64-bit integers
        """A 64-bit constant."""
        return long(number)

    # single precision

    def fma(self, a: Value, b: Value, c: Value, keep: int | None = None) -> Value:
        """a * b + c."""
        return self.op("fvfma", a, b, c, keep=keep)

    def mul(self, a: Value, b: Value) -> Value:
        """a * b."""
        return self.op("fvmul", a, b)

    def add(self, a: Value, b: Value) -> Value:
        """a + b."""
        return self.op("fvadd", a, b)

    def sub(self, a: Value, b: Value) -> Value:
        """a - b."""
        return self.op("fvadd", a, self.negated(b))

    def half(self, a: Value) -> Value:
        """a / 2, on the ALU."""
        return self.op("flrelud", SIGN_BITS, a)

    def twice(self, a: Value) -> Value:
        """2 a, on the ALU."""
        return self.op("filrelud", SIGN_BITS, a)

    def magnitude(self, a: Value) -> Value:
        """The value of a single without its sign."""
        return self.op("iand", a, self.word(SIGN - 1))

    def signed(self, magnitude: Value, sign: Value) -> Value:
        """`magnitude` with its sign flipped where `sign` is negative."""
        return self.op("ixor", magnitude, self.op("iand", sign, self.word(SIGN)))

    def horner(self, x: Value, coefficients: Sequence[float]) -> Value:
        """c0 + x (c1 + x (c2 + ...))."""
        result = self.f(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, self.f(c))
        return result

    # double precision: a product takes two operations, one for each pair of PEs

    def dfma(self, a: Value, b: Value, c: Value) -> Value:
        """a * b + c."""
        return self.op("dvfmad", a, b, self.op("dvfmau", a, b, c))

    def dmul(self, a: Value, b: Value) -> Value:
        """a * b."""
        return self.op("dvfmad", a, b, self.op("dvmulu", a, b))

    def dadd(self, a: Value, b: Value) -> Value:
        """a + b."""
        return self.op("dvadd", a, b)

    def dsub(self, a: Value, b: Value) -> Value:
        """a - b."""
        return self.op("dvadd", a, self.negated(b))

    def dhorner(self, x: Value, coefficients: Sequence[float]) -> Value:
        """c0 + x (c1 + x (c2 + ...))."""
        result = self.d(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.dfma(result, x, self.d(c))
        return result

    # selection

    def select(self, mask: int, a: Value, b: Value, letter: str = "i") -> Value:
        """`a` where the mask is 1, `b` elsewhere; copies bits. `letter` is l for 64-bit elements."""
        if b == both(0):
            return self.op("lpassa", a, keep=mask)
        if a == both(0):
            return self.op(f"{letter}xor", self.op("lpassa", b, keep=mask), b)
        return self.op(f"{letter}xor", self.op(f"{letter}xor", a, b, keep=mask), b)

    def choose(self, condition: Condition, a: Value, b: Value, letter: str = "i") -> Value:
        """`a` where the condition holds, `b` elsewhere; copies bits."""
        mask, holds = condition(a != both(0))
        return self.select(mask, *((a, b) if holds else (b, a)), letter=letter)


Recipe: TypeAlias = Callable[[Emitter, Sequence[Value], Attributes], Value]
"""Emits one vector; operands in ONNX order. 64-bit operators run once for each half of a vector of elements."""

__all__ = [
    "SIGN",
    "SIGN_BITS",
    "Attribute",
    "Attributes",
    "Condition",
    "Constant",
    "Emitter",
    "Recipe",
    "Value",
]
