"""Element-wise ALU operations and flags on single elements (isa.md 9)."""

from __future__ import annotations

from collections.abc import Callable

from pfcomp.emulator.formats import BY_BITS
from pfcomp.emulator.micro import AluOp
from pfcomp.emulator.reference.numbers import ZERO, fields, value
from pfcomp.emulator.rsqrt import INFINITE_RESULT_IS_INFINITE, TABLE_EVEN, TABLE_ODD, ZERO_RESULT_IS_INFINITE


def signed(x: int, bits: int) -> int:
    """Two's complement value of an element."""
    return x - (1 << bits) if x >> (bits - 1) else x


def _shift_right(x: int, y: int, bits: int, unsigned: bool) -> int:
    return (x if unsigned else signed(x, bits)) >> (y % bits)


def _rotate_left(x: int, count: int, bits: int) -> int:
    return (x << count) | (x >> (bits - count))


def _integer_order(x: int, bits: int, unsigned: bool) -> int:
    return x if unsigned else signed(x, bits)


def _scale(x: int, y: int, bits: int, power: int) -> int:
    fmt = BY_BITS[bits]
    sign, exponent, _ = fields(y, fmt)
    if not x >> (bits - 1) or exponent in (0, fmt.infinite):
        return y
    if exponent + power <= 0:
        return sign << (bits - 1)
    if exponent + power >= fmt.infinite:
        return (sign << (bits - 1)) | (fmt.infinite << fmt.mantissa)
    return y + (power << fmt.mantissa)


def _rsqrt(x: int, bits: int) -> int:
    fmt = BY_BITS[bits]
    _, exponent, mantissa = fields(x, fmt)
    if exponent in (0, fmt.infinite):
        infinite = ZERO_RESULT_IS_INFINITE if exponent == 0 else INFINITE_RESULT_IS_INFINITE
        return fmt.infinite << fmt.mantissa if infinite else 0
    power = exponent - fmt.bias
    entry = (TABLE_ODD if power % 2 else TABLE_EVEN)[mantissa >> (fmt.mantissa - 4)]
    return ((fmt.bias - 1 - power // 2) << fmt.mantissa) | ((entry - 32) << (fmt.mantissa - 5))


def _floor(x: int, bits: int) -> int:
    fmt = BY_BITS[bits]
    sign, exponent, _ = fields(x, fmt)
    if exponent == 0:
        return sign << (bits - 1)
    number = value(x, fmt)
    if number.infinite or number.power >= 0:
        return x
    whole = number.integer >> -number.power
    if whole == 0:
        return 0
    length = abs(whole).bit_length()
    field = fmt.bias + length - 1
    return (
        (sign << (bits - 1))
        | (field << fmt.mantissa)
        | ((abs(whole) << (fmt.mantissa + 1 - length)) - (1 << fmt.mantissa))
    )


def _to_integer(x: int, bits: int, unsigned: bool) -> int:
    fmt = BY_BITS[bits]
    number = value(x, fmt)
    least, most = (0, (1 << bits) - 1) if unsigned else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    if number.infinite:
        return (most if unsigned or number.infinite > 0 else least) & ((1 << bits) - 1)
    magnitude = abs(number.integer) << number.power if number.power >= 0 else abs(number.integer) >> -number.power
    result = magnitude if unsigned or number.integer >= 0 else -magnitude
    return min(max(result, least), most) & ((1 << bits) - 1)


def _float_order(x: int, bits: int) -> int:
    fmt = BY_BITS[bits]
    if value(x, fmt) == ZERO:
        return 0
    magnitude = x & ((1 << (bits - 1)) - 1)
    return -magnitude if x >> (bits - 1) else magnitude


def _pick(x: int, y: int, larger: bool, key: Callable[[int], int]) -> int:
    return y if (key(y) > key(x) if larger else key(y) < key(x)) else x


# x, y, element bits, unsigned -> result, not yet cut to the element
OPERATIONS: dict[AluOp, Callable[[int, int, int, bool], int]] = {
    AluOp.INC: lambda x, y, b, u: x + 1,
    AluOp.DEC: lambda x, y, b, u: x - 1,
    AluOp.ADD: lambda x, y, b, u: x + y,
    AluOp.SUB: lambda x, y, b, u: x - y,
    AluOp.NOT: lambda x, y, b, u: ~x,
    AluOp.LNOT: lambda x, y, b, u: int(x == 0),
    AluOp.AND: lambda x, y, b, u: x & y,
    AluOp.OR: lambda x, y, b, u: x | y,
    AluOp.XOR: lambda x, y, b, u: x ^ y,
    AluOp.LSL: lambda x, y, b, u: x << (y % b),
    AluOp.LSR: _shift_right,
    AluOp.BSL: lambda x, y, b, u: _rotate_left(x, y % b, b),
    AluOp.BSR: lambda x, y, b, u: _rotate_left(x, -y % b, b),
    AluOp.IMAX: lambda x, y, b, u: _pick(x, y, True, lambda v: _integer_order(v, b, u)),
    AluOp.IMIN: lambda x, y, b, u: _pick(x, y, False, lambda v: _integer_order(v, b, u)),
    AluOp.PACKBIT: lambda x, y, b, u: (x << 1) | (y >> (b - 1)),
    AluOp.RELU: lambda x, y, b, u: 1 << (b - 1) if x >> (b - 1) & 1 else y,
    AluOp.RELU1: lambda x, y, b, u: 1 << (b - 1) if x >> (b - 2) & 1 else y,
    AluOp.RELU2: lambda x, y, b, u: 1 << (b - 1) if x >> (b - 3) & 1 else y,
    AluOp.RELU3: lambda x, y, b, u: 1 << (b - 1) if x >> (b - 4) & 1 else y,
    AluOp.LRELUD: lambda x, y, b, u: _scale(x, y, b, -1),
    AluOp.LRELUO: lambda x, y, b, u: _scale(x, y, b, -3),
    AluOp.ILRELUD: lambda x, y, b, u: _scale(x, y, b, 1),
    AluOp.RSQRT: lambda x, y, b, u: _rsqrt(x, b),
    AluOp.FLOOR: lambda x, y, b, u: _floor(x, b),
    AluOp.FTOI: lambda x, y, b, u: _to_integer(x, b, u),
    AluOp.FMAX: lambda x, y, b, u: _pick(x, y, True, lambda v: _float_order(v, b)),
    AluOp.FMIN: lambda x, y, b, u: _pick(x, y, False, lambda v: _float_order(v, b)),
}


def evaluate(op: AluOp, x: int, y: int, bits: int, unsigned: bool) -> int:
    """The result element of one ALU operation."""
    return OPERATIONS[op](x, y, bits, unsigned) & ((1 << bits) - 1)
