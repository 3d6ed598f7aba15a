"""Multiply-add operations on bit patterns (isa.md 18.2, 18.3, 18.7)."""

from __future__ import annotations

from pfcomp.emulator.formats import DOUBLE, HALF, SINGLE, FloatFormat
from pfcomp.emulator.reference.numbers import ZERO, Exact, add, fields, round_to, shift_nearest_even, value

LOW_BITS = {DOUBLE.name: 16, SINGLE.name: 5, HALF.name: 0}
EXTENSION = 6


def approximate(a: int, b: int, low_bits: int) -> int:
    """The chip's product of two mantissa integers (isa.md 18.2)."""
    mask = (1 << low_bits) - 1
    low = (a & mask) * (b & mask)
    return a * b - low + (1 << (2 * low_bits - 2) if low else 0)


def multiply(x: int, y: int, fmt: FloatFormat) -> Exact:
    """The product before any rounding; anything times zero is zero, also infinity."""
    a, b = value(x, fmt), value(y, fmt)
    if ZERO in (a, b):
        return ZERO
    direction = (a.infinite or a.integer) * (b.infinite or b.integer)
    sign = 1 if direction > 0 else -1
    if a.infinite or b.infinite:
        return Exact(0, 0, sign)
    return Exact(sign * approximate(abs(a.integer), abs(b.integer), LOW_BITS[fmt.name]), a.power + b.power)


def vector_fma(x: int, y: int, z: int, fmt: FloatFormat, addend: FloatFormat, output: FloatFormat) -> int:
    """x·y + z: factors in `fmt`, z in `addend`, result in `output`."""
    return round_to(add(multiply(x, y, fmt), value(z, addend)), output)


def vector_mul(x: int, y: int, fmt: FloatFormat, output: FloatFormat) -> int:
    """x·y."""
    return round_to(multiply(x, y, fmt), output)


def vector_add(x: int, z: int, fmt: FloatFormat, addend: FloatFormat, output: FloatFormat) -> int:
    """x + z."""
    return round_to(add(value(x, fmt), value(z, addend)), output)


def vector_passa(x: int, fmt: FloatFormat, output: FloatFormat) -> int:
    """x normalised."""
    return round_to(value(x, fmt), output)


def block_value(bits: int, fmt: FloatFormat, ignored: int = 0) -> tuple[int, int, int, bool]:
    """Signed mantissa, power of two, infinity direction and the extended flag of a block-float element (isa.md 18.5).

    `ignored` low mantissa bits do not count (5 for pseudo-single). An exponent field of 0 is zero, but with a
    non-zero mantissa it marks an extended half element (isa.md 18.6).
    """
    sign, exponent, mantissa = fields(bits, fmt)
    direction = -1 if sign else 1
    mantissa &= -1 << ignored
    if exponent == fmt.infinite:
        return 0, 0, direction, False
    if exponent == 0:
        return (direction * mantissa, 0, 0, True) if fmt is HALF and mantissa else (0, 0, 0, False)
    return direction * mantissa, exponent - fmt.bias - (fmt.mantissa - 1), 0, False


def _common_power(elements: list[tuple[int, int, int, bool]]) -> int:
    return max((power for mantissa, power, _, flag in elements if mantissa and not flag), default=0)


def dot(row: list[int], vector: list[int], fmt: FloatFormat, *, pseudo: bool = False) -> Exact:
    """Σ row[j]·vector[j] of block-float elements, each product at its own exponent (isa.md 18.7).

    Extended elements count at the common exponent; their products are shifted right by 6 each with nearest-even
    rounding (isa.md 18.6, UNCERTAIN). Infinite products win over finite ones; as many of each sign cancel to zero.
    """
    ignored = 5 if pseudo else 0
    low_bits = 0 if pseudo else LOW_BITS[fmt.name]
    rows = [block_value(bits, fmt, ignored) for bits in row]
    columns = [block_value(bits, fmt, ignored) for bits in vector]
    row_power, column_power = _common_power(rows), _common_power(columns)
    total, infinite, direction = ZERO, False, 0
    for (a, a_power, a_inf, a_flag), (b, b_power, b_inf, b_flag) in zip(rows, columns, strict=True):
        if a_inf or b_inf:
            sign = _sign((a_inf or a) * (b_inf or b))
            infinite, direction = infinite or sign != 0, direction + sign
            continue
        shift = EXTENSION * (int(a_flag) + int(b_flag))
        magnitude = shift_nearest_even(approximate(abs(a), abs(b), low_bits) if low_bits else abs(a * b), shift)
        power = (row_power if a_flag else a_power) + (column_power if b_flag else b_power)
        total = add(total, Exact(_sign(a * b) * magnitude, power))
    return Exact(0, 0, _sign(direction)) if infinite else total


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def matrix_vector(
    row: list[int], vector: list[int], addend: int, fmt: FloatFormat, addend_fmt: FloatFormat, output: FloatFormat,
    *, pseudo: bool = False,
) -> int:  # fmt: skip
    """One element of a matrix-vector product plus `addend`, rounded once."""
    return round_to(add(dot(row, vector, fmt, pseudo=pseudo), value(addend, addend_fmt)), output)
