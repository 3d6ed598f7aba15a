"""Magnitudes of up to 128 bits as pairs of uint64 arrays (high, low), and the exact add-and-round built on them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pfcomp.emulator.formats import FloatFormat

Array = Any  # NDArray; numpy's own result types are too vague to name
U = np.uint64
_LOW32 = U(0xFFFF_FFFF)
_FAR = -(1 << 20)  # exponent of a zero: any other operand is larger


class Wide(NamedTuple):
    """(-1)^negative · (high·2^64 + low) · 2^exponent."""

    negative: Array
    high: Array
    low: Array
    exponent: Array


def multiply(a: Array, b: Array) -> tuple[Array, Array]:
    """The 128-bit product of two uint64 arrays."""
    a0, a1, b0, b1 = a & _LOW32, a >> U(32), b & _LOW32, b >> U(32)
    low, middle1, middle2 = a0 * b0, a1 * b0, a0 * b1
    carry = (low >> U(32)) + (middle1 & _LOW32) + (middle2 & _LOW32)
    high = a1 * b1 + (middle1 >> U(32)) + (middle2 >> U(32)) + (carry >> U(32))
    return high, (carry << U(32)) | (low & _LOW32)


def add(high: Array, low: Array, other_high: Array, other_low: Array) -> tuple[Array, Array]:
    """Sum modulo 2^128."""
    total = low + other_low
    return high + other_high + (total < low).astype(U), total


def subtract(high: Array, low: Array, other_high: Array, other_low: Array) -> tuple[Array, Array]:
    """Difference modulo 2^128."""
    return high - other_high - (low < other_low).astype(U), low - other_low


def shift_left(high: Array, low: Array, count: Array) -> tuple[Array, Array]:
    """Left shift by 0..127."""
    big = count >= 64
    high, low = np.where(big, low, high), np.where(big, U(0), low)
    n = (count & 63).astype(U)
    spill = (low >> U(1)) >> (U(63) - n)
    return (high << n) | spill, low << n


def shift_right_jam(high: Array, low: Array, count: Array) -> tuple[Array, Array]:
    """Right shift by 0..127; bits that fall off are or-ed into bit 0."""
    n = (count & 63).astype(U)
    big = count >= 64
    lost = (low << U(1)) << (U(63) - n)  # zero where n is 0
    small_low = (low >> n) | ((high << U(1)) << (U(63) - n)) | (lost != 0)
    lost_high = ((high << U(1)) << (U(63) - n)) | low
    big_low = (high >> n) | (lost_high != 0)
    return np.where(big, U(0), high >> n), np.where(big, big_low, small_low)


def leading_zeros(value: Array) -> Array:
    """Leading zeros of uint64 as int64 (64 for zero)."""
    upper = value >> U(32)
    part = np.where(upper != 0, upper, value).astype(np.float64)  # below 2^32: exact
    exponent = (part.view(U) >> U(52)).astype(np.int64) - 1023
    length = np.where(part == 0, 0, exponent + 1) + np.where(upper != 0, 32, 0)
    return np.asarray(64 - length)


def normalise(value: Wide) -> Wide:
    """Shift left until bit 122 is the top one; zero gets the lowest exponent."""
    zeros = np.where(value.high != 0, leading_zeros(value.high), 64 + leading_zeros(value.low))
    empty = zeros >= 128
    count = np.where(empty, 0, zeros)
    high, low = shift_left(value.high, value.low, count)
    high, low = shift_right_jam(high, low, np.full(count.shape, 5))
    return Wide(value.negative, high, low, np.where(empty, _FAR, value.exponent - count + 5))


def add_signed(a: Wide, b: Wide) -> Wide:
    """a + b of normalised values, with everything below the result's 60th bit folded into a sticky bit."""
    distance = a.exponent - b.exponent
    exponent = np.maximum(a.exponent, b.exponent)
    a_high, a_low = shift_right_jam(a.high, a.low, np.clip(-distance, 0, 127))
    b_high, b_low = shift_right_jam(b.high, b.low, np.clip(distance, 0, 127))
    smaller = (a_high < b_high) | ((a_high == b_high) & (a_low < b_low))
    sum_high, sum_low = add(a_high, a_low, b_high, b_low)
    large = (np.where(smaller, b_high, a_high), np.where(smaller, b_low, a_low))
    small = (np.where(smaller, a_high, b_high), np.where(smaller, a_low, b_low))
    gap_high, gap_low = subtract(*large, *small)
    opposite = a.negative != b.negative
    negative = np.where(opposite & smaller, b.negative, a.negative)
    return Wide(negative, np.where(opposite, gap_high, sum_high), np.where(opposite, gap_low, sum_low), exponent)


def round_to(value: Wide, fmt: FloatFormat) -> Array:
    """Nearest even to `fmt` as uint64 bits; below range +0, above infinity, zero +0 (isa.md 18.1)."""
    zeros = np.where(value.high != 0, leading_zeros(value.high), 64 + leading_zeros(value.low))
    high, low = shift_left(value.high, value.low, np.minimum(zeros, 127))
    drop = 63 - fmt.mantissa
    kept, rest = high >> U(drop), high & U((1 << drop) - 1)
    half = U(1 << (drop - 1))
    up = (rest > half) | ((rest == half) & ((low != 0) | ((kept & U(1)) != 0)))
    kept = kept + up.astype(U)
    carried = kept >> U(fmt.mantissa + 1)
    kept = kept >> carried
    field = value.exponent + 127 - zeros + fmt.bias + carried.astype(np.int64)
    body = (np.clip(field, 0, fmt.infinite).astype(U) << U(fmt.mantissa)) | (kept & U((1 << fmt.mantissa) - 1))
    body = np.where(field >= fmt.infinite, U(fmt.infinite << fmt.mantissa), body)
    sign = np.asarray(value.negative).astype(U) << U(fmt.bits - 1)
    return np.where((zeros >= 128) | (field <= 0), U(0), body | sign)
