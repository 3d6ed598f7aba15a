"""Values that recipes pass around, and the bit patterns of constants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Virtual

WORD = 0xFFFFFFFF
LONG = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Constant:
    """One long word, the same in all PEs and cycles; a 32-bit pattern stands in both of its words."""

    bits: int


MISSING = Constant(-1)
"""Stands for an optional operand that a node does not have."""


@dataclass(slots=True, eq=False)
class Result:
    """The result of an operation that is emitted when the next one comes, or when its destination is known."""

    value: Operand | Virtual | None = None


Value: TypeAlias = Operand | Virtual | Result | Constant


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant of one element."""

    dtype: DType
    value: int | float | bool


def both(word: int) -> Constant:
    """A 32-bit pattern in both words; negative numbers in two's complement."""
    return Constant((word & WORD) << 32 | word & WORD)


def single(number: float) -> Constant:
    """A single-precision number, rounded to nearest."""
    return both(int(np.float32(number).view(np.uint32)))


def double(number: float) -> Constant:
    """A double-precision number."""
    return Constant(int(np.float64(number).view(np.uint64)))


def long(number: int) -> Constant:
    """A 64-bit integer; negative numbers in two's complement."""
    return Constant(number & LONG)


def constant(immediate: Immediate) -> Constant:
    """An immediate as its element type is held on the chip."""
    if immediate.dtype is DType.FLOAT:
        return single(float(immediate.value))
    if immediate.dtype is DType.DOUBLE:
        return double(float(immediate.value))
    number = int(immediate.value)
    return long(number) if immediate.dtype is DType.LONG else both(number)


def signed_value(known: Constant, bits: int = 64) -> int:
    """The number that the low `bits` of a constant are in two's complement."""
    return known.bits - (1 << bits) if known.bits >> (bits - 1) else known.bits
