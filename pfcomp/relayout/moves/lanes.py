"""Operands of moves: four lanes (cycles) with any addresses, some of them switched off; addresses that differ by PE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pfcomp.ir.model import Location
from pfcomp.isa.model import Address, MaskRef, Operand
from pfcomp.isa.pack import Builder, Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.operands import LM_PLACES, WORDS
from pfcomp.layout import Level

FIXED_MASKS = 16
"""Mask entry 16 + k enables the cycles whose bit, from the top, is set in k (isa.md 3.1)."""

IDENTITY = {Level.PE: "$subpeid", Level.MAB: "$mabid", Level.L1B: "$l1bid", Level.L2B: "$l2bid"}
WORD_BITS = 32


def target(location: Location, addresses: Sequence[int | None]) -> Operand:
    """Up to four long words to write; None switches a lane off."""
    padded = (*addresses, *[None] * (4 - len(addresses)))
    kept = [a for a in padded if a is not None]
    operand = operands.vector(location, _fill(padded, kept[0]))
    if len(kept) == 4:
        return operand
    pattern = sum(8 >> lane for lane, a in enumerate(padded) if a is not None)
    return replace(operand, mask=MaskRef(FIXED_MASKS + pattern))


def _fill(padded: Sequence[int | None], first: int) -> list[int]:
    """Addresses for switched-off lanes that keep the stride of the others."""
    known = [(lane, a) for lane, a in enumerate(padded) if a is not None]
    step = (known[1][1] - known[0][1]) // (known[1][0] - known[0][0]) if len(known) > 1 else 0
    regular = [known[0][1] + step * (lane - known[0][0]) for lane in range(4)]
    if step >= 0 and regular[0] >= 0 and all(regular[lane] == a for lane, a in known):
        return regular
    return [first if a is None else a for a in padded]


def words(location: Location, addresses: Sequence[int]) -> Operand:
    """Up to four single words by word address; a short list repeats its last one."""
    padded = (*addresses, *[addresses[-1]] * (4 - len(addresses)))
    a, b, c, d = padded
    if b - a == c - b == d - c >= 0:
        return Operand(LM_PLACES[location], 1, Address(a, b - a))
    return Operand(LM_PLACES[location], 1, Address(0, flat=(a, b, c, d)))


def wide(location: Location, addresses: Sequence[int]) -> Operand:
    """Four pairs of neighbouring long words, by the even addresses of their first ones."""
    return replace(words(location, [WORDS * a for a in addresses]), width=2 * WORDS)


@dataclass(frozen=True, slots=True)
class Term:
    """`words` are added to an address where `bit` of a PE's coordinate on `level` is 1."""

    level: Level
    bit: int
    words: int


class Pointer:
    """Adds words that differ by PE to the addresses of a local memory: T for LM0, the base address for LM1."""

    def __init__(self, builder: Builder, location: Location) -> None:
        self.builder, self.location = builder, location
        self.register = "$t" if location is Location.LM0 else "$nb"

    def at(self, addresses: Sequence[int]) -> Operand:
        """Long words relative to the pointer."""
        operand = operands.vector(self.location, addresses)
        if self.location is Location.LM0 and operand.address is not None:
            return replace(operand, address=replace(operand.address, indirect=True))
        return operand

    def reset(self) -> None:
        """Leave LM1 as other operations expect it."""
        if self.location is Location.LM1:
            self.builder.op("zero", to=self.register)


@dataclass(frozen=True, slots=True)
class _Run:
    """`size` neighbouring bits of a coordinate from `low`, worth `words`, 2 · `words`, ..."""

    level: Level
    low: int
    size: int
    words: int


def runs(terms: Sequence[Term]) -> list[_Run]:
    """Terms of neighbouring bits whose words double, together."""
    found: list[_Run] = []
    for term in sorted(terms, key=lambda t: (t.level, t.bit)):
        last = found[-1] if found else None
        continues = last and (last.level, last.low + last.size) == (term.level, term.bit)
        if last and continues and term.words == last.words << last.size:
            found[-1] = replace(last, size=last.size + 1)
        else:
            found.append(_Run(term.level, term.bit, 1, term.words))
    return [run for run in found if run.words]


def set_bits(number: int) -> list[int]:
    """The positions of the ones in a number."""
    return [bit for bit in range(number.bit_length()) if number >> bit & 1]


class IdentityWords:
    """Computes sums of terms with the ALU, in both words of every long word (T reads one of them, bases the other)."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.known: dict[int, Virtual] = {}

    def constant(self, value: int) -> Virtual:
        """`value` in both words."""
        if value not in self.known:
            self.known[value] = self.builder.op(f'imm ui"{value & 0xFFFFFFFF:#x}"')
        return self.known[value]

    def total(self, terms: Sequence[Term], to: str) -> None:
        """Write the sum of the terms to a register."""
        fields = [(run, bit) for run in runs(terms) for bit in set_bits(run.words)]
        if not fields:
            self.builder.op("zero", to=to)
            return
        *others, (last, bit) = fields
        parts = [self.field(IDENTITY[run.level], run.low, run.size, place) for run, place in others]
        if not parts:
            self.field(IDENTITY[last.level], last.low, last.size, bit, to)
            return
        parts.append(self.field(IDENTITY[last.level], last.low, last.size, bit))
        total = parts[0]
        for part in parts[1:-1]:
            total = self.builder.op("iadd", total, part)
        self.builder.op("iadd", total, parts[-1], to=to)

    def field(self, source: str | Virtual, low: int, size: int, place: int, to: str | None = None) -> Virtual:
        """Bits low..low+size-1 of `source`, moved to bit `place`, all others 0."""
        shift = place - low
        mask = self.constant(((1 << size) - 1) << place)
        if shift:
            source = self.builder.op("ilsl" if shift > 0 else "ilsr", source, self.constant(abs(shift)))
        return self.builder.op("iand", source, mask, to=to)
