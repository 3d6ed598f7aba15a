"""Block-float normalisation of one block (isa.md 18.5, 18.6)."""

from __future__ import annotations

from pfcomp.emulator.formats import HALF, FloatFormat
from pfcomp.emulator.reference.numbers import fields, shift_nearest_even

EXTENSION = 6


def normalise(block: list[int], fmt: FloatFormat, length: int, *, extended: bool = False) -> list[int]:
    """The block-float patterns of `block`; `length` is the mantissa length without hidden bit."""
    mb, infinite, top_bit = fmt.mantissa, fmt.infinite, fmt.bits - 1
    parts = [fields(bits, fmt) for bits in block]
    top = max(exponent for _, exponent, _ in parts)
    if top == 0:
        return [sign << top_bit for sign, _, _ in parts]
    shorten = mb + 1 - length
    carries = any(
        exponent == top and shift_nearest_even(mantissa + (1 << mb), shorten) == 1 << length
        for _, exponent, mantissa in parts
    )
    common = top + int(carries)
    extra = 9 - length if fmt is HALF else 0
    if common + extra >= infinite:
        return [(sign << top_bit) | (infinite << mb) for sign, _, _ in parts]
    result = []
    for sign, exponent, mantissa in parts:
        whole = mantissa + (1 << mb) if exponent else 0
        field, shift = common + extra, shorten + common - exponent
        if extended and _flagged(whole, common - exponent, EXTENSION + extra, shorten, length):
            field, shift = 0, shift - EXTENSION
        q = shift_nearest_even(whole, shift)
        if extended and q == 0:
            field = 0
        result.append((sign << top_bit) | (field << mb) | (q if fmt is HALF else q << (mb - length)))
    return result


def _flagged(whole: int, distance: int, limit: int, shorten: int, length: int) -> bool:
    all_ones = shift_nearest_even(whole, shorten) == 1 << length
    return distance >= limit and not (distance == limit and all_ones)
