"""Numbers and masks that depend on where a lane lies, computed on the chip from the id inputs (isa.md 1, 7.3).

A *lane* is one word of one PE. All numbers are 32-bit integers in both words of a long word; only digits on W make
the two words differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod

from pfcomp.isa.pack import Builder, Virtual
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.elementwise import immediate
from pfcomp.layout import Layout, Level, used_bits
from pfcomp.layout.extents import level_extent

IDS: dict[Level, str] = {
    Level.L2B: "$l2bid",
    Level.L1B: "$l1bid",
    Level.MAB: "$mabid",
    Level.PE: "$subpeid",
}
"""The id input of each level (isa.md 1)."""

LANE_LEVELS = (*IDS, Level.W)
WORD_BITS = 32
_WORD = (1 << WORD_BITS) - 1

Decoded = Mapping[int, tuple[int, ...]]
"""By coordinate of a level: what it adds to the index of every axis. Coordinates without an element are missing."""


def decode(layout: Layout, level: Level) -> Decoded:
    """The coordinates of a level that digits reach (copies left out), with the index that they stand for."""
    digits = []
    for axis, subs in enumerate(layout.axes):
        for position, sub in enumerate(subs):
            if sub.level is level and sub.size > 1:
                digits.append((axis, prod(after.size for after in subs[position + 1 :]), sub))
    found: dict[int, tuple[int, ...]] = {}
    for values in product(*(range(sub.size) for _, _, sub in digits)):
        index = [0] * len(layout.axes)
        for value, (axis, weight, _) in zip(values, digits, strict=True):
            index[axis] += value * weight
        found[sum(value * sub.stride for value, (_, _, sub) in zip(values, digits, strict=True))] = tuple(index)
    return found


def level_table(layout: Layout, level: Level, bits: int) -> tuple[tuple[int, ...] | None, ...]:
    """`decode` for every coordinate of a level, copies included; None where no element lies."""
    found, used = decode(layout, level), used_bits(layout, level)
    return tuple(found.get(coordinate & used) for coordinate in range(level_extent(level, bits)))


class Constants:
    """Long words of two 32-bit words, each loaded once."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._found: dict[tuple[int, int], Virtual] = {}

    def pair(self, high: int, low: int) -> Virtual:
        """A long word of two words."""
        key = (high & _WORD, low & _WORD)
        if key not in self._found:
            self._found[key] = self._load(*key)
        return self._found[key]

    def twice(self, word: int) -> Virtual:
        """A long word that holds `word` two times."""
        return self.pair(word, word)

    def _load(self, high: int, low: int) -> Virtual:
        if high == low:
            return self.builder.op(immediate(high))
        parts = []
        if high:
            parts.append(self.builder.op(f'immu ui"{high:#x}"'))
        if low:
            shifted = self.builder.op(f'immu ui"{low:#x}"')
            parts.append(self.builder.op("ullsr", shifted, self.twice(WORD_BITS)))
        return parts[0] if len(parts) == 1 else self.builder.op("ior", *parts)


class Lanes:
    """Emits such numbers for one layout; everything that was asked for before is taken from registers."""

    def __init__(self, context: KernelContext, layout: Layout, bits: int) -> None:
        self.context, self.builder = context, context.builder
        self.tables = {level: level_table(layout, level, bits) for level in LANE_LEVELS}
        self.constants = Constants(context.builder)
        self._ids: dict[Level, Virtual] = {}
        self._indices: dict[int, Virtual] = {}

    def id(self, level: Level) -> Virtual:
        """The level's coordinate in a register: ids can only be first operands."""
        if level not in self._ids:
            self._ids[level] = self.builder.op("ipassa", IDS[level])
        return self._ids[level]

    def field(self, level: Level, used: int) -> Virtual:
        """The bits `used` of the coordinate, in place."""
        return self.builder.op("iand", IDS[level], self.constants.twice(used))

    def index(self, axis: int) -> Virtual:
        """The part of an element's index along `axis` that does not depend on its address."""
        if axis not in self._indices:
            parts = [part for level in LANE_LEVELS if (part := self._part(axis, level)) is not None]
            total = parts[0] if parts else self.constants.twice(0)
            for part in parts[1:]:
                total = self.builder.op("iadd", total, part)
            self._indices[axis] = total
        return self._indices[axis]

    def _part(self, axis: int, level: Level) -> Virtual | None:
        values = tuple(None if entry is None else entry[axis] for entry in self.tables[level])
        if not any(values):
            return None
        if level is Level.W:
            return self.constants.pair(values[0] or 0, values[1] or 0)
        factors = [values[1 << bit] or 0 for bit in range(len(values).bit_length() - 1)]
        if all(value is None or value == _linear(factors, place) for place, value in enumerate(values)):
            return self._sum_of_bits(level, factors)
        return self._looked_up(level, values)

    def _sum_of_bits(self, level: Level, factors: Sequence[int]) -> Virtual:
        """The sum of factors[i] over the set bits i of the coordinate; neighbours that double are one field."""
        total: Virtual | None = None
        bit = 0
        while bit < len(factors):
            last = bit
            while last + 1 < len(factors) and factors[last + 1] == 2 * factors[last]:
                last += 1
            if factors[bit]:
                term = self._times(self.field(level, (2 << last) - (1 << bit)), factors[bit], bit)
                total = term if total is None else self.builder.op("iadd", total, term)
            bit = last + 1
        return self.constants.twice(0) if total is None else total

    def _times(self, value: Virtual, factor: int, right: int) -> Virtual:
        """value · factor / 2^right, for a value that is a multiple of 2^right."""
        total: Virtual | None = None
        for bit in range(factor.bit_length()):
            if factor >> bit & 1:
                term = self._shifted(value, bit - right)
                total = term if total is None else self.builder.op("iadd", total, term)
        return value if total is None else total

    def _shifted(self, value: Virtual, left: int) -> Virtual:
        if left == 0:
            return value
        return self.builder.op("ilsl" if left > 0 else "uilsr", value, self.constants.twice(abs(left)))

    def _looked_up(self, level: Level, values: Sequence[int | None]) -> Virtual:
        """Any function of the coordinate: one comparison for each value other than 0."""
        total = self.constants.twice(0)
        for place, value in enumerate(values):
            if value:
                entry = self.context.mask()
                self.builder.op("ixor", self.id(level), self.constants.twice(place), to=f"$omr{entry}")
                chosen = self.builder.op(f"ipassa/$imr{entry}", self.constants.twice(value))
                total = self.builder.op("ior", total, chosen)
        return total

    def member(self, level: Level, allowed: int) -> Virtual:
        """A number that is negative where bit `coordinate` of `allowed` is set."""
        places = range(allowed.bit_length())
        if level is Level.W:
            return self.constants.pair(*(1 << 31 if allowed >> word & 1 else 0 for word in range(2)))
        reversed_bits = sum(1 << (WORD_BITS - 1 - place) for place in places if allowed >> place & 1)
        return self.builder.op("ilsl", self.constants.twice(reversed_bits), self.id(level))


def _linear(factors: Sequence[int], place: int) -> int:
    return sum(factor for bit, factor in enumerate(factors) if place >> bit & 1)
