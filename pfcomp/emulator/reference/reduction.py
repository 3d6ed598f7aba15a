"""Reduction operators on lists of elements (isa.md 15, 18.4). None stands for an operand outside of the L1B set."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from pfcomp.emulator.formats import BY_BITS, FloatFormat
from pfcomp.emulator.micro import Reduction
from pfcomp.emulator.reference.numbers import Exact, fields, infinity, round_to, shift_nearest_even, value

GUARD = 3


def float_sum(operands: list[int], fmt: FloatFormat, output: FloatFormat) -> int:
    """One level of at most four operands: aligned to the largest exponent with three guard bits, then added."""
    values = [value(bits, fmt) for bits in operands]
    if any(v.infinite for v in values):
        direction = sum(v.infinite for v in values)  # equal numbers of both signs cancel (isa.md 18.3)
        return infinity(direction, output) if direction else 0
    top = max(fields(bits, fmt)[1] for bits in operands)
    total = 0
    for bits, number in zip(operands, values, strict=True):
        distance = top - fields(bits, fmt)[1]
        aligned = shift_nearest_even(abs(number.integer) << GUARD, distance)
        total += aligned if number.integer >= 0 else -aligned
    return round_to(Exact(total, top - fmt.bias - fmt.mantissa - GUARD), output)


def unit(operator: Reduction, bits: int) -> int:
    """What a missing operand counts as (isa.md 13.1)."""
    ones = (1 << bits) - 1
    table = {Reduction.BAND: ones, Reduction.AND: 1, Reduction.MAX: ones, Reduction.MIN: ones >> 1}
    return table.get(operator, 0)


def _key(bits: int, width: int) -> int:
    magnitude = bits & ((1 << (width - 1)) - 1)
    return -1 - magnitude if bits >> (width - 1) else magnitude


# Operands, element bits -> one level.
_COMBINE: dict[Reduction, Callable[[list[int], int], int]] = {
    Reduction.MAX: lambda operands, bits: max(operands, key=lambda b: _key(b, bits)),
    Reduction.MIN: lambda operands, bits: min(operands, key=lambda b: _key(b, bits)),
    Reduction.IADD: lambda operands, bits: sum(operands) & ((1 << bits) - 1),
    Reduction.BAND: lambda operands, bits: reduce(lambda a, b: a & b, operands),
    Reduction.BOR: lambda operands, bits: reduce(lambda a, b: a | b, operands),
    Reduction.AND: lambda operands, bits: int(all(operands)),
    Reduction.OR: lambda operands, bits: int(any(operands)),
}


def tree(operator: Reduction, operands: list[int | None], bits: int, groups: list[list[int]]) -> int:
    """Two levels: over the positions in each of `groups`, then over the groups."""
    filled = [unit(operator, bits) if o is None else o for o in operands]
    level = [_level(operator, [filled[i] for i in group], bits) for group in groups]
    return level[0] if len(level) == 1 else _level(operator, level, bits)


def _level(operator: Reduction, operands: list[int], bits: int) -> int:
    if operator == Reduction.FADD:
        return float_sum(operands, BY_BITS[bits], BY_BITS[bits])
    return _COMBINE[operator](operands, bits)
