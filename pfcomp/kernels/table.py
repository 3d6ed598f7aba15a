"""The element-wise operators: one row each, with the chip operations that compute them.

A recipe receives an `Emitter` and the operands of one vector (four long words per PE, two singles in each) and returns
the result. Costs and accuracy are in docs/numerics.md; facts on the operations in isa.md 9 and 10.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

V = TypeVar("V")


class Emitter(Protocol[V]):
    """What a recipe may use: one chip operation per call, values of type V in and out."""

    def op(self, mnemonic: str, *operands: V) -> V:
        """Emit an operation on values and return its result."""

    def negated(self, value: V) -> V:
        """The value with its sign flipped on a MAU input port: costs nothing, valid only as an `fv...` operand."""

    def word(self, bits: int) -> V:
        """A constant: the 32-bit pattern in both words of every long word."""

    def sign_bits(self) -> V:
        """The id input `$msb1`: only the sign bit set; valid only as the first operand of an ALU operation."""


Recipe = Callable[[Emitter[V], Sequence[V]], V]


@dataclass(frozen=True, slots=True)
class ElementwiseOp:
    """An ONNX operator that works element by element; `most` is None where any number of operands is allowed."""

    name: str
    least: int
    most: int | None
    recipe: Recipe[Any]
    meaning: str


def _add(e: Emitter[V], x: Sequence[V]) -> V:
    total = x[0] if len(x) > 1 else e.op("lpassa", x[0])
    for term in x[1:]:
        total = e.op("fvadd", total, term)
    return total


def _sub(e: Emitter[V], x: Sequence[V]) -> V:
    return e.op("fvadd", x[0], e.negated(x[1]))


def _mul(e: Emitter[V], x: Sequence[V]) -> V:
    return e.op("fvmul", x[0], x[1])


def _neg(e: Emitter[V], x: Sequence[V]) -> V:
    return e.op("ixor", e.sign_bits(), x[0])  # flips zeros and infinities exactly, which a MAU negation does not


def _abs(e: Emitter[V], x: Sequence[V]) -> V:
    return e.op("iand", x[0], e.word(0x7FFFFFFF))


def _relu(e: Emitter[V], x: Sequence[V]) -> V:
    return e.op("fmax", x[0], e.word(0))  # frelu would turn every negative number into -0


def _fold(mnemonic: str) -> Recipe[V]:
    def recipe(e: Emitter[V], x: Sequence[V]) -> V:
        result = x[0] if len(x) > 1 else e.op("lpassa", x[0])
        for other in x[1:]:
            result = e.op(mnemonic, result, other)
        return result

    return recipe


def _identity(e: Emitter[V], x: Sequence[V]) -> V:
    return e.op("lpassa", x[0])


ELEMENTWISE: dict[str, ElementwiseOp] = {
    op.name: op
    for op in (
        ElementwiseOp("Abs", 1, 1, _abs, "clears the sign bit; exact"),
        ElementwiseOp("Add", 2, 2, _add, "one rounding to nearest even; tiny results and -0 become +0"),
        ElementwiseOp("Identity", 1, 1, _identity, "copies the bits"),
        ElementwiseOp("Max", 1, None, _fold("fmax"), "the larger operand, its bits unchanged"),
        ElementwiseOp("Min", 1, None, _fold("fmin"), "the smaller operand, its bits unchanged"),
        ElementwiseOp("Mul", 2, 2, _mul, "product of isa.md 18.2, one rounding; tiny results and -0 become +0"),
        ElementwiseOp("Neg", 1, 1, _neg, "flips the sign bit; exact"),
        ElementwiseOp("Relu", 1, 1, _relu, "the larger of x and 0"),
        ElementwiseOp("Sub", 2, 2, _sub, "one rounding to nearest even; tiny results and -0 become +0"),
        ElementwiseOp("Sum", 1, None, _add, "left to right, one rounding for each addition"),
    )
}
