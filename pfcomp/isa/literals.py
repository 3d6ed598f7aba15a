"""Literals of `imm`/`immu`: text to the 32-bit word it stands for (isa.md 5.4 and 18.8)."""

from __future__ import annotations

import re
import struct
from fractions import Fraction

from .model import Immediate
from .problems import Trouble

_INTEGER = re.compile(r"([+-]?)(0x[0-9a-fA-F]{1,64}|0b[01]{1,128}|[0-9]{1,64})\Z")
_FLOAT = re.compile(r"[+-]?([0-9]{1,200}(\.[0-9]{0,200})?|\.[0-9]{1,200})([eE][+-]?[0-9]{1,6})?\Z")
_INFINITE = re.compile(r"([+-]?)inf(inity)?\Z", re.IGNORECASE)

# Accepted integer ranges: plain types take signed and unsigned spellings of the same bits.
INTEGER_RANGES: dict[str, tuple[int, int]] = {
    "i": (-(1 << 31), (1 << 32) - 1),
    "ui": (0, (1 << 32) - 1),
    "s": (-(1 << 15), (1 << 16) - 1),
    "us": (0, (1 << 16) - 1),
}
FLOAT_TYPES = ("f", "h")
IMMEDIATE_TYPES = (*FLOAT_TYPES, *INTEGER_RANGES)
_HALF_BIAS_SHIFT = 127 - 31


def parse_immediate(kind: str, text: str) -> Immediate:
    """The literal `kind"text"`; raises `Trouble` if the type or the text is wrong or out of range."""
    if kind in FLOAT_TYPES:
        single = single_bits(text)
        return Immediate(kind, text, single if kind == "f" else half_of_single(single) * 0x10001)
    if kind not in INTEGER_RANGES:
        raise Trouble(f"unknown literal type {kind!r}; write f, h, i, s, ui or us before the quotes", kind)
    value = _integer(text)
    low, high = INTEGER_RANGES[kind]
    if not low <= value <= high:
        raise Trouble(f"{text} is out of range for {kind}; it must be between {low} and {high}", text)
    if kind in ("s", "us"):
        return Immediate(kind, text, (value & 0xFFFF) * 0x10001)
    return Immediate(kind, text, value & 0xFFFFFFFF)


def _integer(text: str) -> int:
    match = _INTEGER.match(text)
    if match is None:
        raise Trouble(f"{text!r} is not an integer; write decimal, 0x or 0b digits", text)
    digits = match[2]
    value = int(digits, 10) if digits.isdigit() else int(digits, 0)
    return -value if match[1] == "-" else value


def single_bits(text: str) -> int:
    """Bits of the single that is nearest to the decimal text, ties to even; overflow gives infinity."""
    infinite = _INFINITE.match(text)
    if infinite is not None:
        return 0xFF800000 if infinite[1] == "-" else 0x7F800000
    if _FLOAT.match(text) is None:
        raise Trouble(f"{text!r} is not a number; write decimal digits, a fraction, an exponent or inf", text)
    value = float(text)
    try:
        bits = int.from_bytes(struct.pack(">f", value), "big")
    except OverflowError:
        return 0xFF800000 if value < 0 else 0x7F800000
    return _undo_double_rounding(text, value, bits)


def _undo_double_rounding(text: str, value: float, bits: int) -> int:
    """Correct `bits` where the double `value` lies exactly between two singles but the text does not."""
    if int.from_bytes(struct.pack(">d", value), "big") & 0x1FFFFFFF != 0x10000000 or abs(value) < 2.0**-149:
        return bits
    exact, middle = abs(Fraction(text)), Fraction(abs(value))
    if exact == middle:
        return bits
    below = bits if abs(_single(bits)) < abs(value) else bits - 1
    return below + 1 if exact > middle else below


def _single(bits: int) -> float:
    value: float = struct.unpack(">f", bits.to_bytes(4, "big"))[0]
    return value


def half_of_single(bits: int) -> int:
    """1-6-9 half nearest to a single, ties to even; below 2^-30 it becomes zero, above the range infinity."""
    sign, exponent, mantissa = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
    if exponent == 0:
        return sign << 15
    if exponent == 0xFF:
        return sign << 15 | 0x7E00
    kept, lost = mantissa >> 14, mantissa & 0x3FFF
    kept += lost > 0x2000 or (lost == 0x2000 and kept & 1)
    rounded = ((exponent - _HALF_BIAS_SHIFT) << 9) + kept
    if rounded < 1 << 9:
        return sign << 15
    return sign << 15 | min(rounded, 0x7E00)
