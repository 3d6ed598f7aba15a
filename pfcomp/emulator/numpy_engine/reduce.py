"""Reduction operators over an axis of long words (isa.md 13.1, 15, 18.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pfcomp.emulator.formats import BY_BITS, FloatFormat
from pfcomp.emulator.micro import Reduction
from pfcomp.emulator.numpy_engine.wide import Wide, round_to
from pfcomp.emulator.state import Words

Array = Any  # NDArray; numpy's own result types are too vague to name
GUARD = 3
_KINDS: dict[int, Any] = {64: np.uint64, 32: np.uint32, 16: np.uint16}
_SIGNED: dict[int, Any] = {64: np.int64, 32: np.int32, 16: np.int16}
# Which operands meet first (isa.md 18.4, UNCERTAIN): lower index bits, for the eight L2Bs the two of a group.
TREES: dict[str, tuple[int, int]] = {"mab16": (4, 4), "l1b8": (4, 2), "l2b8": (2, 4), "flat": (0, 0)}


def _shift_nearest_even(value: Array, count: Array) -> Array:
    n = np.minimum(count, 62)
    kept = value >> n
    rest, half = value - (kept << n), (np.int64(1) << n) >> 1
    return kept + ((n > 0) & ((rest > half) | ((rest == half) & (kept & 1 != 0))))


def float_sum(bits: Array, fmt: FloatFormat, output: FloatFormat) -> Array:
    """One level: the sum over axis 0 (at most four operands) of uint64 patterns of `fmt`, as patterns of `output`."""
    field = (bits >> np.uint64(fmt.mantissa)).astype(np.int64) & fmt.infinite
    negative = (bits >> np.uint64(fmt.bits - 1)) != 0
    whole = (bits & np.uint64((1 << fmt.mantissa) - 1)).astype(np.int64) | (1 << fmt.mantissa)
    whole = np.where(field == 0, 0, whole)
    top = field.max(axis=0)
    aligned = _shift_nearest_even(whole << GUARD, top - field)
    total = np.where(negative, -aligned, aligned).sum(axis=0)
    magnitude = np.abs(total).astype(np.uint64)
    power = top - fmt.bias - fmt.mantissa - GUARD
    result = round_to(Wide(total < 0, np.zeros_like(magnitude), magnitude, power), output)
    infinite = field == fmt.infinite
    if infinite.any():
        direction = np.where(infinite, np.where(negative, -1, 1), 0).sum(axis=0)
        infinity = np.uint64(output.infinite << output.mantissa)
        sign = (direction < 0).astype(np.uint64) << np.uint64(output.bits - 1)
        result = np.where(infinite.any(axis=0), np.where(direction == 0, np.uint64(0), sign | infinity), result)
    return result


def _sign_magnitude(data: Array, bits: int) -> Array:
    """Signed integers that sort like sign-magnitude patterns (+0 above -0)."""
    signed = data.view(_SIGNED[bits])
    return np.asarray(np.where(signed < 0, _SIGNED[bits](-1) - (signed & _SIGNED[bits]((1 << (bits - 1)) - 1)), signed))


def _extreme(data: Array, bits: int, larger: bool) -> Array:
    key = _sign_magnitude(data, bits)
    best = key.max(axis=0) if larger else key.min(axis=0)
    top = _SIGNED[bits](-(1 << (bits - 1)))
    return np.asarray(np.where(best < 0, (_SIGNED[bits](-1) - best) | top, best)).view(_KINDS[bits])


def _float_level(data: Array, bits: int) -> Array:
    return float_sum(data.astype(np.uint64), BY_BITS[bits], BY_BITS[bits]).astype(_KINDS[bits])


# Elements along axis 0, element bits -> one level of the operator.
_LEVELS: dict[int, Callable[[Array, int], Array]] = {
    Reduction.FADD: _float_level,
    Reduction.MAX: lambda data, bits: _extreme(data, bits, True),
    Reduction.MIN: lambda data, bits: _extreme(data, bits, False),
    Reduction.IADD: lambda data, bits: data.sum(axis=0, dtype=_KINDS[bits]),
    Reduction.BAND: lambda data, bits: np.bitwise_and.reduce(data, axis=0),
    Reduction.BOR: lambda data, bits: np.bitwise_or.reduce(data, axis=0),
    Reduction.AND: lambda data, bits: (data != 0).all(axis=0).astype(_KINDS[bits]),
    Reduction.OR: lambda data, bits: (data != 0).any(axis=0).astype(_KINDS[bits]),
}


def unit(operator: int, bits: int) -> int:
    """The element that stands for an operand outside of the L1B set (isa.md 13.1)."""
    ones = (1 << bits) - 1
    return {Reduction.BAND: ones, Reduction.AND: 1, Reduction.MAX: ones, Reduction.MIN: ones >> 1}.get(
        Reduction(operator), 0
    )


def unit_word(code: int) -> int:
    """The same as a long word."""
    operator, bits = decode(code)
    return sum(unit(operator, bits) << shift for shift in range(0, 64, bits))


def decode(code: int) -> tuple[int, int]:
    """Operator and element bits of a reduction code (`micro.reduction_code`)."""
    return code % 8, (64, 32, 16)[code // 8]


def levels(data: Array, operator: int, bits: int, tree: str) -> Array:
    """Elements reduced over axis 0 in one or two levels."""
    first, second = TREES[tree]
    level = _LEVELS[operator]
    if not first:
        return level(data, bits)
    grouped = data.reshape(second, first, *data.shape[1:]).swapaxes(0, 1)
    return level(level(grouped, bits), bits)


def reduce(data: Words, code: int, tree: str) -> Words:
    """Long words reduced over axis 0 by the operator of `code`; `tree` is a key of `TREES`."""
    operator, bits = decode(code)
    elements = np.ascontiguousarray(data).view(_KINDS[bits])
    return np.ascontiguousarray(levels(elements, operator, bits, tree)).view(np.uint64)


def narrow_sum(singles: Array, tree: str) -> Array:
    """Single sums over axis 0 whose last rounding goes to half: uint32 patterns to uint16 (isa.md 12.1)."""
    first, second = TREES[tree]
    data = singles
    if first:
        grouped = singles.reshape(second, first, *singles.shape[1:]).swapaxes(0, 1)
        data = _float_level(grouped, 32)
    return float_sum(data.astype(np.uint64), BY_BITS[32], BY_BITS[16]).astype(np.uint16)
