"""Words of `imm` literals against exact fractions."""

from __future__ import annotations

import struct
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.isa.literals import half_of_single, parse_immediate, single_bits

WORDS = [
    ("f", "1.0", 0x3F800000),
    ("f", "-2.5", 0xC0200000),
    ("f", "8388608", 0x4B000000),
    ("f", "inf", 0x7F800000),
    ("f", "-inf", 0xFF800000),
    ("f", "1e60", 0x7F800000),
    ("f", "-0", 0x80000000),
    ("f", "1e-60", 0),
    ("f", "0.1", 0x3DCCCCCD),
    ("h", "1.0", 0x3E003E00),
    ("h", "2.0", 0x40004000),
    ("h", "-inf", 0xFE00FE00),
    ("h", "1e-12", 0),
    ("h", "1e12", 0x7E007E00),
    ("i", "-3", 0xFFFFFFFD),
    ("i", "0xffff0000", 0xFFFF0000),
    ("i", "0b101", 5),
    ("i", "+007", 7),
    ("ui", "0xff00ff00", 0xFF00FF00),
    ("s", "8", 0x00080008),
    ("s", "-1", 0xFFFFFFFF),
    ("us", "65535", 0xFFFFFFFF),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "word"), WORDS)
def test_words(kind, text, word):
    literal = parse_immediate(kind, text)
    assert (literal.type, literal.text, literal.word) == (kind, text, word)


def _value(bits, exponent_bits, mantissa_bits):
    """Exact value of a pattern as plain IEEE-like number, subnormals included, infinity as 2^(emax)."""
    bias = (1 << (exponent_bits - 1)) - 1
    exponent, mantissa = bits >> mantissa_bits, bits & ((1 << mantissa_bits) - 1)
    if exponent == 0:
        return Fraction(mantissa) * Fraction(2) ** (1 - bias - mantissa_bits)
    return Fraction((1 << mantissa_bits) + mantissa) * Fraction(2) ** (exponent - bias - mantissa_bits)


def _is_nearest_even(exact, bits, exponent_bits, mantissa_bits):
    here = _value(bits, exponent_bits, mantissa_bits)
    error = abs(exact - here)
    for other in (bits - 1, bits + 1):
        if other < 0:
            continue
        distance = abs(exact - _value(other, exponent_bits, mantissa_bits))
        if distance < error or (distance == error and bits & 1):
            return False
    return True


decimals = st.builds("{}.{}e{}".format, st.integers(0, 10**9), st.integers(0, 10**18), st.integers(-48, 28))


@settings(max_examples=200, deadline=None)
@given(decimals)
def test_single_is_the_nearest(text):
    bits = single_bits(text)
    assert bits <= 0x7F800000
    assert _is_nearest_even(Fraction(text), bits, 8, 23)


@settings(max_examples=100, deadline=None)
@given(st.integers(0x00800000, 0x7F000000), st.sampled_from([-1, 0, 1]))
def test_single_is_not_rounded_twice(bits, nudge):
    """Texts that lie a hair from the middle between two singles."""
    below = struct.unpack(">f", bits.to_bytes(4, "big"))[0]
    above = struct.unpack(">f", (bits + 1).to_bytes(4, "big"))[0]
    middle = (Fraction(below) + Fraction(above)) / 2
    exact = middle * (1 + Fraction(nudge, 10**30))
    scale = 10**190
    text = f"{exact.numerator * scale // exact.denominator}"
    shift = 190
    text, shift = text[:150], shift - max(len(text) - 150, 0)
    assert _is_nearest_even(Fraction(f"{text}e{-shift}"), single_bits(f"{text}e{-shift}"), 8, 23)


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 0x7F7FFFFF))
def test_half_is_the_nearest_or_flushed(bits):
    half = half_of_single(bits)
    exact = _value(bits, 8, 23) if bits >= 0x00800000 else Fraction(0)
    if half == 0:
        assert exact < Fraction(2) ** -30
    elif half != 0x7E00:
        assert _is_nearest_even(exact, half, 6, 9)
    else:
        assert exact >= (2 - Fraction(1, 1 << 10)) * Fraction(2) ** 31
    assert half_of_single(bits | 1 << 31) == half | 1 << 15


def test_every_half_survives_the_way_through_single():
    for half in range(1 << 9, 0x7E00):
        single = ((half >> 9) + 96) << 23 | (half & 0x1FF) << 14
        assert half_of_single(single) == half
