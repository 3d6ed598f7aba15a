"""Masks of comparisons, and what is chosen by them: without a Bool in between where its only reader is the choice.

A mask tells where a condition holds or where it does not. The ALU's maximum and minimum give the flags "the first
operand is chosen or equal" (isa.md 9.3); the MAU's flag is "the result is not negative" (isa.md 7.3).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes.emitter import Attributes, Condition, Emitter, Recipe, Value
from pfcomp.kernels.recipes.values import WORD, Constant, both, double, long, signed_value, single

LETTERS = {DType.FLOAT: "f", DType.INT: "i", DType.BOOL: "i", DType.LONG: "l", DType.DOUBLE: "d"}
"""The letter of ALU operations on a type."""

FLOATS = (DType.FLOAT, DType.DOUBLE)

LEAST = {DType.FLOAT: 2.0**-126, DType.DOUBLE: 2.0**-1022}
"""The smallest number that is not 0 to the chip."""

NEGATED = {"Greater": "LessOrEqual", "LessOrEqual": "Greater", "Less": "GreaterOrEqual", "GreaterOrEqual": "Less"}
MIRRORED = {"Greater": "Less", "Less": "Greater", "GreaterOrEqual": "LessOrEqual", "LessOrEqual": "GreaterOrEqual"}
REACHED = {"Greater": "GreaterOrEqual", "Less": "LessOrEqual"}
"""The relation to the next number that says the same as one to a number."""
CHOSEN = {"GreaterOrEqual": "max", "LessOrEqual": "min"}

COMPARISONS = ("Equal", *NEGATED)

SAFE = {DType.FLOAT: 2.0**-100, DType.DOUBLE: 2.0**-960}
"""The difference to a number from here on does not vanish unless it is 0."""


def integer_letter(dtype: DType) -> str:
    """The letter of integer operations on words of the size of a type."""
    return "l" if dtype.bits == 64 else "i"


def truth(dtype: DType) -> Value:
    """What is true, or one, in an element type."""
    if dtype in FLOATS:
        return single(1.0) if dtype is DType.FLOAT else double(1.0)
    return long(1) if dtype.bits == 64 else both(1)


def stored(e: Emitter, bits: int, value: Value) -> Condition:
    """A Bool, for elements of `bits` bits; in long words it is in the high word."""

    def condition(want: bool) -> tuple[int, bool]:
        if bits == 64:
            return (e.flag("lsub", value, e.l(1 << 32)) if want else e.flag("ullsr", value, e.word(32))), want
        return e.flag("idec" if want else "ipassa", value), want

    return condition


def compared(e: Emitter, op: str, dtype: DType, a: Value, b: Value) -> Condition:
    """A comparison of two values of a type."""

    def condition(want: bool) -> tuple[int, bool]:
        if op == "Equal":
            return e.flag(f"{integer_letter(dtype)}xor", _tidy(e, dtype, a), _tidy(e, dtype, b)), True
        relation, x, y, holds = op, a, b, want
        if isinstance(x, Constant):
            relation, x, y = MIRRORED[op], b, a
        relation = relation if want else NEGATED[relation]
        if relation in REACHED:
            bound = _next(dtype, y, up=relation == "Greater")
            relation, holds = (NEGATED[relation], not want) if bound is None else (REACHED[relation], want)
            y = y if bound is None else bound
        return _reaches(e, relation, dtype, x, y), holds

    return condition


def _tidy(e: Emitter, dtype: DType, value: Value) -> Value:
    """Floating numbers lose the signs of zeros and what stands for zero."""
    return e.op(f"{LETTERS[dtype]}vpassa", value) if dtype in FLOATS else value


def _reaches(e: Emitter, relation: str, dtype: DType, x: Value, y: Value) -> int:
    """A mask of x >= y or x <= y."""
    letter, above = LETTERS[dtype], relation == "GreaterOrEqual"
    if dtype not in FLOATS or not _safe(dtype, y, above):
        return e.flag(letter + CHOSEN[relation], x, y)
    if isinstance(y, Constant) and _floating(dtype, y) == 0:
        return e.flag(f"{letter}vpassa", x if above else e.negated(x))
    return e.flag(f"{letter}vadd", x, e.negated(y)) if above else e.flag(f"{letter}vadd", y, e.negated(x))


def _safe(dtype: DType, bound: Value, above: bool) -> bool:
    """True if the sign of the difference to the bound is that of a comparison: 0 only for numbers on the right side."""
    number = _floating(dtype, bound) if isinstance(bound, Constant) else np.inf
    least = LEAST[dtype] if above else -LEAST[dtype]
    return number in (0.0, least) or SAFE[dtype] <= abs(number) < np.inf


def _floating(dtype: DType, constant: Constant) -> float:
    """The number that a constant is to the chip, which takes those without an exponent for 0."""
    if dtype is DType.DOUBLE:
        number = float(np.uint64(constant.bits).view(np.float64))
    else:
        number = float(np.uint32(constant.bits & WORD).view(np.float32))
    return 0.0 if abs(number) < LEAST[dtype] else number


def _next(dtype: DType, value: Value, up: bool) -> Constant | None:
    """The number above or below a constant; None if there is none, or for other values."""
    if not isinstance(value, Constant):
        return None
    if dtype in FLOATS:
        return _next_floating(dtype, _floating(dtype, value), 1 if up else -1)
    after = signed_value(value if dtype.bits == 64 else Constant(value.bits & WORD), dtype.bits) + (1 if up else -1)
    if abs(2 * after + 1) > 1 << dtype.bits:
        return None
    return long(after) if dtype.bits == 64 else both(after)


def _next_floating(dtype: DType, number: float, sign: int) -> Constant | None:
    if np.isinf(number):
        return None
    kind = np.float64 if dtype is DType.DOUBLE else np.float32
    with np.errstate(over="ignore"):  # infinity follows the largest number
        after = float(np.nextafter(number, sign * np.inf, dtype=kind))
    if abs(after) < LEAST[dtype]:
        after = 0.0 if number else sign * LEAST[dtype]
    return single(after) if dtype is DType.FLOAT else double(after)


def chosen_by(op: str, dtype: DType, result: DType) -> Recipe:
    """A Where whose condition is a comparison: the operands of the comparison, then those of the choice."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.choose(compared(e, op, dtype, x[0], x[1]), x[2], x[3], integer_letter(result))

    return recipe


def cast_of(op: str, dtype: DType, result: DType) -> Recipe:
    """A comparison as a number of another type: 1 or 0."""

    def recipe(e: Emitter, x: Sequence[Value], _: Attributes) -> Value:
        return e.choose(compared(e, op, dtype, x[0], x[1]), truth(result), both(0), integer_letter(result))

    return recipe
