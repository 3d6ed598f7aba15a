"""The chip's half against exact rational arithmetic, over all bit patterns and random singles."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.layout.half import float16_to_half, half_to_float16, half_to_single, single_to_half

ALL = np.arange(1 << 16, dtype=np.uint16)


def slow_single_to_half(value):
    """Round to 10 significant bits, ties to even, then look at the range (isa.md 18.1)."""
    sign = 0x8000 if np.signbit(value) else 0
    if not np.isfinite(value):
        return sign | 63 << 9
    exact = abs(Fraction(float(value)))
    if exact == 0:
        return 0
    exponent = 0
    while exact >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while exact < Fraction(2) ** exponent:
        exponent -= 1
    mantissa = round(exact / Fraction(2) ** (exponent - 9))  # Python rounds ties to even
    if mantissa == 1 << 10:
        mantissa, exponent = 1 << 9, exponent + 1
    field = exponent + 31
    if field <= 0:
        return 0
    return sign | (63 << 9 if field >= 63 else field << 9 | mantissa & 0x1FF)


def test_every_half_converts_to_its_value_and_back():
    values = half_to_single(ALL)
    field, mantissa = (ALL >> 9) & 63, ALL & 0x1FF
    exact = np.ldexp(1 + mantissa / 512, field.astype(int) - 31) * np.where(ALL & 0x8000, -1.0, 1.0)
    exact = np.where(field == 0, 0.0, np.where(field == 63, np.copysign(np.inf, exact), exact))
    assert np.array_equal(values, exact.astype(np.float32))
    normal = (field > 0) & (field < 63)
    assert np.array_equal(single_to_half(values)[normal], ALL[normal])
    assert set(single_to_half(values)[field == 0].tolist()) == {0}
    assert set(single_to_half(values)[field == 63].tolist()) == {63 << 9, 0x8000 | 63 << 9}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_ties_and_borders_of_every_half(sign):
    values = half_to_single(ALL[512 : 62 << 9]).astype(np.float64)
    middles = (sign * (values[:-1] + values[1:]) / 2).astype(np.float32)
    for singles in (middles, np.nextafter(middles, np.float32(np.inf)), np.nextafter(middles, np.float32(0))):
        picked = singles[::97]
        assert single_to_half(picked).tolist() == [slow_single_to_half(value) for value in picked]


SMALLEST, LARGEST = 2.0**-30, 2.0**32
EDGES = [0.0, -0.0, 1.0, SMALLEST, SMALLEST * (1 - 2.0**-11), SMALLEST * (1 - 2.0**-10), -SMALLEST / 2, 2.0**-140]
EDGES += [LARGEST, LARGEST * (1 - 2.0**-11), LARGEST * (1 - 2.0**-10), -(2.0**100), np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("value", EDGES)
def test_edges_of_the_range(value):
    assert single_to_half(np.array([value], dtype=np.float32))[0] == slow_single_to_half(np.float32(value))


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
@settings(max_examples=100, deadline=None)
def test_any_single(values):
    singles = np.array(values, dtype=np.float32)
    assert single_to_half(singles).tolist() == [slow_single_to_half(value) for value in singles]


def test_float16_goes_through_single():
    values = ALL.view(np.float16)
    assert np.array_equal(float16_to_half(values), single_to_half(values.astype(np.float32)))
    with np.errstate(over="ignore"):
        expected = half_to_single(ALL).astype(np.float16)
    assert np.array_equal(half_to_float16(ALL), expected)
    ordinary = np.abs(values.astype(np.float32)) >= 2.0**-14
    short = ordinary & np.isfinite(values) & (ALL & 1 == 0)  # nine mantissa bits
    assert np.array_equal(half_to_float16(float16_to_half(values[short])), values[short])


def test_known_patterns():
    assert [hex(half) for half in single_to_half(np.array([1.0, -2.0, 65536.0], dtype=np.float32))] == [
        "0x3e00",
        "0xc000",
        "0x5e00",
    ]
