"""Field widths of the chip's floating-point formats (isa.md 2)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """A format: `exponent` and `mantissa` field widths in bits and the exponent bias."""

    name: str
    exponent: int
    mantissa: int

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @property
    def bias(self) -> int:
        return (1 << (self.exponent - 1)) - 1

    @property
    def infinite(self) -> int:
        """The all-ones exponent field."""
        return (1 << self.exponent) - 1


HALF = FloatFormat("half", 6, 9)
SINGLE = FloatFormat("single", 8, 23)
DOUBLE = FloatFormat("double", 11, 52)
BY_BITS = {16: HALF, 32: SINGLE, 64: DOUBLE}
BY_LETTER = {"d": DOUBLE, "f": SINGLE, "g": SINGLE, "h": HALF}
