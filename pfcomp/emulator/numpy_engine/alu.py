"""Element-wise ALU operations on arrays of long words (isa.md 9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pfcomp.emulator.micro import AluOp, FlagRule, Micro
from pfcomp.emulator.numpy_engine import alu_float
from pfcomp.emulator.numpy_engine.access import SHAPE, read, write
from pfcomp.emulator.rows import PES
from pfcomp.emulator.state import State, Words

Lanes = Any  # NDArray of unsigned elements; numpy's own result types are too vague to name
UNSIGNED: dict[int, Any] = {64: np.uint64, 32: np.uint32, 16: np.uint16}
SIGNED: dict[int, Any] = {64: np.int64, 32: np.int32, 16: np.int16}


def lanes(data: Words, bits: int) -> Lanes:
    """The elements of each long word along the last axis, last element first (memory order)."""
    return data if bits == 64 else np.ascontiguousarray(data).view(UNSIGNED[bits])


def _count(y: Lanes, bits: int) -> Lanes:
    """Shift and rotate counts: low bits only (isa.md 9.2; counts above the width are UNCERTAIN)."""
    return y & UNSIGNED[bits](bits - 1)


def _rotate(x: Lanes, count: Lanes, bits: int) -> Lanes:
    back = (UNSIGNED[bits](bits) - count) & UNSIGNED[bits](bits - 1)
    return (x << count) | (x >> back)


def _shift_right(x: Lanes, y: Lanes, bits: int, unsigned: int) -> Lanes:
    count = _count(y, bits)
    if unsigned:
        return x >> count
    return (x.view(SIGNED[bits]) >> count.view(SIGNED[bits])).view(UNSIGNED[bits])


def _pick(x: Lanes, y: Lanes, bits: int, unsigned: int, larger: bool) -> Lanes:
    if unsigned:
        return np.maximum(x, y) if larger else np.minimum(x, y)
    a, b = x.view(SIGNED[bits]), y.view(SIGNED[bits])
    return (np.maximum(a, b) if larger else np.minimum(a, b)).view(UNSIGNED[bits])


def _one(bits: int) -> Any:
    return UNSIGNED[bits](1)


def _relu(which: int) -> Callable[[Lanes, Lanes, int, int], Lanes]:
    def apply(x: Lanes, y: Lanes, bits: int, _: int) -> Lanes:
        test = UNSIGNED[bits](1 << (bits - 1 - which))
        return np.where(x & test, UNSIGNED[bits](1 << (bits - 1)), y)

    return apply


# x, y, element bits, unsigned -> result
OPERATIONS: dict[AluOp, Callable[[Lanes, Lanes, int, int], Lanes]] = {
    AluOp.INC: lambda x, _y, b, _u: x + _one(b),
    AluOp.DEC: lambda x, _y, b, _u: x - _one(b),
    AluOp.ADD: lambda x, y, _b, _u: x + y,
    AluOp.SUB: lambda x, y, _b, _u: x - y,
    AluOp.NOT: lambda x, _y, _b, _u: ~x,
    AluOp.LNOT: lambda x, _y, b, _u: (x == 0).astype(UNSIGNED[b]),
    AluOp.AND: lambda x, y, _b, _u: x & y,
    AluOp.OR: lambda x, y, _b, _u: x | y,
    AluOp.XOR: lambda x, y, _b, _u: x ^ y,
    AluOp.LSL: lambda x, y, b, _u: x << _count(y, b),
    AluOp.LSR: _shift_right,
    AluOp.BSL: lambda x, y, b, _u: _rotate(x, _count(y, b), b),
    AluOp.BSR: lambda x, y, b, _u: _rotate(x, _count(UNSIGNED[b](0) - y, b), b),
    AluOp.IMAX: lambda x, y, b, u: _pick(x, y, b, u, True),
    AluOp.IMIN: lambda x, y, b, u: _pick(x, y, b, u, False),
    AluOp.PACKBIT: lambda x, y, b, _u: (x << _one(b)) | (y >> UNSIGNED[b](b - 1)),
    AluOp.RELU: _relu(0),
    AluOp.RELU1: _relu(1),
    AluOp.RELU2: _relu(2),
    AluOp.RELU3: _relu(3),
    AluOp.LRELUD: lambda x, y, b, _u: alu_float.scale_if_negative(x, y, b, -1),
    AluOp.LRELUO: lambda x, y, b, _u: alu_float.scale_if_negative(x, y, b, -3),
    AluOp.ILRELUD: lambda x, y, b, _u: alu_float.scale_if_negative(x, y, b, 1),
    AluOp.RSQRT: lambda x, _y, b, _u: alu_float.rsqrt(x, b),
    AluOp.FLOOR: lambda x, _y, b, _u: alu_float.floor(x, b),
    AluOp.FTOI: lambda x, _y, b, u: alu_float.to_integer(x, b, u),
    AluOp.FMAX: lambda x, y, b, _u: alu_float.choose(x, y, b, True),
    AluOp.FMIN: lambda x, y, b, _u: alu_float.choose(x, y, b, False),
}


def run(state: State, micro: Micro) -> None:
    """LW0 of the result; LW1 is the translator's business (isa.md 9.1)."""
    op, bits, unsigned = micro.params
    x = lanes(read(state, micro.src[0].hi), bits)
    y = lanes(read(state, micro.src[1].hi), bits) if len(micro.src) > 1 else x
    result = OPERATIONS[AluOp(op)](x, y, bits, unsigned)
    if micro.dst:
        write(state, micro.dst.hi, np.ascontiguousarray(result).view(np.uint64))


def shift_pe(state: State, micro: Micro) -> None:
    """`msl`, `msr`: LW0 of the PE `distance` below in the same MAB."""
    data = read(state, micro.src[0].hi)
    groups = data.reshape(*data.shape[:2], -1, PES)
    if micro.dst:
        write(state, micro.dst.hi, np.roll(groups, micro.params[0], axis=-1).reshape(data.shape))


def _conditions(rule: int, x: Lanes, y: Lanes, bits: int, number: int) -> Lanes:
    if rule == FlagRule.ZERO:
        return x == 0
    if rule == FlagRule.BIT_CLEAR:
        return (x & UNSIGNED[bits](1 << number)) == 0
    if rule == FlagRule.NO_CARRY:
        return x + y >= x
    if rule == FlagRule.NO_BORROW:
        return x >= y
    if rule == FlagRule.EQUAL:
        return x == y
    return np.zeros(x.shape, bool)


def flags(state: State, micro: Micro) -> None:
    """Flags of LW0 as nibbles whose bits are spread over half-words: 64, 32 or 16 ones for each set flag."""
    rule, bits, number = micro.params
    if rule == FlagRule.SIGNS4:
        spread = _signs4(state, micro)
    else:
        x = lanes(read(state, micro.src[0].hi), bits)
        y = lanes(read(state, micro.src[1].hi), bits) if len(micro.src) > 1 else x
        condition = _conditions(rule, x, y, bits, number)
        spread = (UNSIGNED[bits](0) - condition.astype(UNSIGNED[bits])).view(np.uint64)
    if micro.dst:
        write(state, micro.dst.hi, np.broadcast_to(spread, SHAPE))


def _signs4(state: State, micro: Micro) -> Lanes:
    """Sign bits of w0..w3, one for each nibble bit b3..b0 (isa.md 7.3, half-precision MAU results)."""
    value = micro.src[0]
    halves = [read(state, value.hi), read(state, value.lo or value.hi)]
    parts = [((half >> np.uint64(shift)) & np.uint64(1)) ^ np.uint64(1) for half in halves for shift in (63, 31)]
    spread = [part * np.uint64(0xFFFF) << np.uint64(48 - 16 * i) for i, part in enumerate(parts)]
    return spread[0] | spread[1] | spread[2] | spread[3]
