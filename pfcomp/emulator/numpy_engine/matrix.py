"""Matrix register reads and matrix times vector (isa.md 11, 18.7)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pfcomp.emulator.formats import DOUBLE, HALF, SINGLE, FloatFormat
from pfcomp.emulator.micro import Format, Micro
from pfcomp.emulator.numpy_engine.access import SHAPE, read, read_low, write
from pfcomp.emulator.numpy_engine.elements import pack, pack4, pack_narrow, unpack, unpack4
from pfcomp.emulator.numpy_engine.matrix_double import double_results
from pfcomp.emulator.numpy_engine.rounding import exact_sum, to_half, to_single
from pfcomp.emulator.reference.mau import matrix_vector
from pfcomp.emulator.state import State, Words

Array = Any  # NDArray; numpy's own result types are too vague to name


class Shape(NamedTuple):
    """Of a matrix register in one precision: rows (and columns), element bits, ignored and approximated low bits."""

    size: int
    fmt: FloatFormat
    ignored: int
    low_bits: int


SHAPES: dict[int, Shape] = {
    Format.D: Shape(4, DOUBLE, 0, 16),
    Format.F: Shape(8, SINGLE, 0, 5),
    Format.G: Shape(8, SINGLE, 5, 0),
    Format.H: Shape(16, HALF, 0, 0),
}


def register(state: State, row: int, shape: Shape) -> Array:
    """The bits of a register as `[tile][row][MAB][column]`."""
    return unpack(state.mem[:, row : row + shape.size], shape.fmt.bits)


def mread(state: State, micro: Micro) -> None:
    """Columns of the register to the PEs (isa.md 11.2)."""
    row, first, letter = micro.params
    shape, dst = SHAPES[letter], micro.dst
    if dst is None:
        return
    columns = register(state, row, shape).swapaxes(1, 3)  # [tile][column][MAB][row]
    step = 2 if letter == Format.H else 1
    index = (first + step * np.arange(4)) % shape.size
    write(state, dst.hi, pack(columns[:, index], shape.fmt.bits))
    if dst.lo:
        write(state, dst.lo, pack(columns[:, (index + 1) % shape.size], shape.fmt.bits))


class Blocks(NamedTuple):
    """Block-float elements: signed mantissas (float64), the common power of each block, and whether it is regular."""

    mantissa: Array
    power: Array
    regular: Array


def decode(bits: Array, shape: Shape) -> Blocks:
    """Elements of blocks along the last axis. A block with infinities, extended or mixed exponents is irregular."""
    fmt = shape.fmt
    wide = bits.astype(np.int64)
    exponent = (wide >> fmt.mantissa) & fmt.infinite
    mantissa = wide & (((1 << fmt.mantissa) - 1) & (-1 << shape.ignored))
    extended = (exponent == 0) & (mantissa != 0)
    if fmt is not HALF:
        mantissa = np.where(exponent == 0, 0, mantissa)
    counted = np.where(mantissa != 0, exponent, 0)
    top = counted.max(axis=-1, keepdims=True)
    mixed = (mantissa != 0) & (exponent != top)
    odd = mixed | (exponent == fmt.infinite)
    if fmt is HALF:
        odd |= extended
    signed = np.where((wide >> (fmt.bits - 1)) & 1 != 0, -mantissa, mantissa).astype(np.float64)
    return Blocks(signed, top[..., 0] - fmt.bias - (fmt.mantissa - 1), ~odd.any(axis=-1))


def _dot(m: Array, x: Array) -> Array:
    """Σ_j m[tile][row][MAB][j] · x[tile][cycle][MAB][j] as [tile][cycle][MAB][row]."""
    return np.matmul(x.transpose(0, 2, 1, 3), m.transpose(0, 2, 3, 1)).transpose(0, 2, 1, 3)


def _low(mantissa: Array, bits: int) -> Array:
    return np.sign(mantissa) * (np.abs(mantissa).astype(np.int64) & ((1 << bits) - 1))


def integer_sums(m: Array, x: Array, shape: Shape) -> Array:
    """Exact sums of products of signed mantissas in float64, with the approximation of single factors."""
    if shape.fmt is HALF:
        return _dot(m.astype(np.float32), x.astype(np.float32)).astype(np.float64)  # below 2^22
    total = _dot(m, x)
    if shape.low_bits:
        m_low, x_low = _low(m, shape.low_bits), _low(x, shape.low_bits)
        signs = _dot(np.sign(m_low), np.sign(x_low))
        total = total - _dot(m_low, x_low) + signs * float(1 << (2 * shape.low_bits - 2))
    return total


def _addend(state: State, micro: Micro, letter: int) -> Array:
    """y as single bits `[tile][cycle][MAB][row]`, sign flipped if negated."""
    value = micro.src[1]
    high = read(state, value.hi)
    bits = unpack4(high, read_low(state, value)) if letter == Format.H else unpack(high, 32)
    return bits ^ np.uint32(0x8000_0000) if micro.params[2] & 2 else bits


def _vector(state: State, micro: Micro, shape: Shape) -> Array:
    bits = unpack(read(state, micro.src[0].hi), shape.fmt.bits)
    sign = bits.dtype.type(1 << (shape.fmt.bits - 1))
    return bits ^ sign if micro.params[2] & 1 else bits


def _single_value(bits: Array) -> Array:
    return (bits * ((bits & np.uint32(0x7F80_0000)) != 0)).view(np.float32).astype(np.float64)


def matvec(state: State, micro: Micro) -> None:
    """`mfma`, `mmul` in every precision."""
    row, letter, _, narrow, half_select, add = micro.params
    shape, dst = SHAPES[letter], micro.dst
    bits, x = register(state, row, shape), _vector(state, micro, shape)
    if dst is None:
        return
    if letter == Format.F:  # odd columns and the second word of x do not take part (isa.md 11.3)
        bits, x = bits[..., 0::2], x[..., 0::2]
    if letter == Format.D:
        y = unpack(read(state, micro.src[1].hi), 64) if add else None
        if y is not None and micro.params[2] & 2:
            y = y ^ np.uint64(1 << 63)
        results = double_results(bits, x, y, half_select, bool(narrow))
        packed = pack_narrow(results, 32) if narrow else pack(results, 64)
        write(state, dst.hi, np.broadcast_to(packed, SHAPE))
        return
    addend = _addend(state, micro, letter) if add else np.zeros((1, 1, 1, 1), np.uint32)
    results = _results(bits, x, addend, shape, HALF if narrow else SINGLE)
    _store(state, micro, results, letter, bool(narrow))


def _results(bits: Array, x: Array, addend: Array, shape: Shape, output: FloatFormat) -> Array:
    m, v = decode(bits, shape), decode(x, shape)
    sums = integer_sums(m.mantissa, v.mantissa, shape)
    power = m.power.transpose(0, 2, 1)[:, None] + v.power[..., None]
    total = exact_sum(np.ldexp(sums, power.astype(np.int32)), _single_value(addend), output)
    result = to_half(total) if output is HALF else to_single(total)
    irregular = ~(m.regular.transpose(0, 2, 1)[:, None] & v.regular[..., None])
    irregular |= (addend & np.uint32(0x7F80_0000)) == 0x7F80_0000
    if irregular.any():
        _repair(result, irregular, bits, x, addend, shape, output)
    return result


def _repair(
    result: Array, where: Array, bits: Array, x: Array, addend: Array, shape: Shape, output: FloatFormat
) -> None:
    """Lanes that are not plain block float, one by one with the scalar model."""
    full = np.broadcast_to(addend, result.shape)
    for tile, cycle, mab, row in np.argwhere(np.broadcast_to(where, result.shape)):
        result[tile, cycle, mab, row] = matrix_vector(
            bits[tile, row, mab].tolist(), x[tile, cycle % x.shape[1], mab].tolist(), int(full[tile, cycle, mab, row]),
            shape.fmt, SINGLE, output, pseudo=shape.ignored > 0,
        )  # fmt: skip


def _store(state: State, micro: Micro, results: Array, letter: int, narrow: bool) -> None:
    dst = micro.dst
    if dst is None:
        return
    low: Words | None = None
    if narrow:
        high = pack_narrow(results, 16)
    elif letter == Format.H:
        high, low = pack4(results)
    else:
        high = pack(results, 32)
    write(state, dst.hi, np.broadcast_to(high, SHAPE))
    if dst.lo and low is not None:
        write(state, dst.lo, np.broadcast_to(low, SHAPE))
