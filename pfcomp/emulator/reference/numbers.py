"""Exact numbers and their rounding (isa.md 18.1)."""

from __future__ import annotations

from typing import NamedTuple

from pfcomp.emulator.formats import FloatFormat


class Exact(NamedTuple):
    """integer · 2^power; `infinite` is +1 or -1 for infinities, else 0."""

    integer: int
    power: int = 0
    infinite: int = 0


ZERO = Exact(0)


def fields(bits: int, fmt: FloatFormat) -> tuple[int, int, int]:
    """Sign (0 or 1), exponent field, mantissa field."""
    return bits >> (fmt.bits - 1), (bits >> fmt.mantissa) & fmt.infinite, bits & ((1 << fmt.mantissa) - 1)


def value(bits: int, fmt: FloatFormat) -> Exact:
    """What a bit pattern stands for: exponent 0 is zero, all ones is infinity (isa.md 2)."""
    sign, exponent, mantissa = fields(bits, fmt)
    direction = -1 if sign else 1
    if exponent == 0:
        return ZERO
    if exponent == fmt.infinite:
        return Exact(0, 0, direction)
    return Exact(direction * (mantissa + (1 << fmt.mantissa)), exponent - fmt.bias - fmt.mantissa)


def infinity(direction: int, fmt: FloatFormat) -> int:
    """Bit pattern of an infinity with zero mantissa."""
    return (int(direction < 0) << (fmt.bits - 1)) | (fmt.infinite << fmt.mantissa)


def add(a: Exact, b: Exact) -> Exact:
    """The exact sum; infinities of opposite sign cancel to zero (reading of isa.md 18.3)."""
    if a.infinite or b.infinite:
        direction = a.infinite + b.infinite
        return Exact(0, 0, (direction > 0) - (direction < 0))
    power = min(a.power, b.power)
    return Exact((a.integer << (a.power - power)) + (b.integer << (b.power - power)), power)


def shift_nearest_even(magnitude: int, count: int) -> int:
    """magnitude / 2^count rounded to nearest, ties to even; a negative count shifts left."""
    if count <= 0:
        return magnitude << -count
    kept, rest, half = magnitude >> count, magnitude & ((1 << count) - 1), 1 << (count - 1)
    return kept + int(rest > half or (rest == half and kept & 1 == 1))


def round_to(number: Exact, fmt: FloatFormat) -> int:
    """The bit pattern of the nearest number of `fmt`: never a denormal, never -0, overflow to infinity."""
    if number.infinite:
        return infinity(number.infinite, fmt)
    if number.integer == 0:
        return 0
    magnitude = abs(number.integer)
    drop = magnitude.bit_length() - (fmt.mantissa + 1)
    kept = shift_nearest_even(magnitude, drop)
    if kept >> (fmt.mantissa + 1):
        kept, drop = kept >> 1, drop + 1
    exponent = number.power + drop + fmt.mantissa + fmt.bias
    if exponent <= 0:
        return 0
    if exponent >= fmt.infinite:
        return infinity(number.integer, fmt)
    sign = int(number.integer < 0)
    return (sign << (fmt.bits - 1)) | (exponent << fmt.mantissa) | (kept - (1 << fmt.mantissa))


def convert(bits: int, source: FloatFormat, target: FloatFormat) -> int:
    """A number of one format rounded to another."""
    return round_to(value(bits, source), target)
