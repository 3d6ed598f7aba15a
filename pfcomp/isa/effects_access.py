"""What single operands touch: per-cycle words of PE memories, ranges of the memories above them (isa.md 3 and 6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .model import CYCLES, Address, MaskRef, Operand, Place
from .tables_places import LOCAL_MEMORIES, PE_MEMORIES, PLACES

EVERY_CYCLE = (1 << CYCLES) - 1
FIRST_FIXED_MASK = 16
FULL_MEMBERS: dict[Place, int] = {
    Place.L1BM: 0xFF,
    Place.L2BM: 0xFF,
    Place.DRAM: 0xF,
    Place.PDM: 0xF,
    Place.DAR: 0xF,
}
"""Bits of `Span.members`: L1Bs of an L2B, L2Bs of the chip, groups."""

Port = tuple[Address | None, int]
"""What has to be equal for two accesses to share a port: address and width (isa.md 16, rule 5)."""


@dataclass(frozen=True, slots=True)
class PeAccess:
    """Access of one operand to LM0, LM1, GRF0, GRF1, T, the mask registers or a BAR.

    In cycle c it touches `units` units (words; for T and masks entries) from `cycles[c]` on, wrapped into the
    memory, if bit c of `enabled` is set: fixed write masks clear bits, variable ones do not. `anywhere`: the
    addresses are known only at run time (T-indirect). `port` is the key of the one-port rule.
    """

    place: Place
    cycles: tuple[int, int, int, int]
    units: int
    port: Port
    enabled: int = EVERY_CYCLE
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Span:
    """Long words (DAR: entries) `start`..`stop` of the instances of a memory whose bits `members` has."""

    place: Place
    start: int
    stop: int
    members: int

    def overlaps(self, other: Span) -> bool:
        """True if both touch one word of one instance."""
        return (
            self.place is other.place
            and self.start < other.stop
            and other.start < self.stop
            and self.members & other.members != 0
        )


def spans(place: Place, start: int, count: int, members: int) -> tuple[Span, ...]:
    """The long words `start`..`start + count`, wrapped modulo the size of the memory (isa.md 3)."""
    size = PLACES[place].size
    if count <= 0:
        return ()
    if count >= size:
        return (Span(place, 0, size, members),)
    first = start % size
    if first + count <= size:
        return (Span(place, first, first + count, members),)
    return (Span(place, first, size, members), Span(place, 0, first + count - size, members))


def enabled_cycles(mask: MaskRef | None) -> int:
    """Bit c set: a write under `mask` may happen in cycle c. Fixed patterns name cycle 0 first (isa.md 3.1)."""
    if mask is None or mask.entry < FIRST_FIXED_MASK:
        return EVERY_CYCLE
    pattern = mask.entry - FIRST_FIXED_MASK
    return sum((pattern >> (CYCLES - 1 - c) & 1) << c for c in range(CYCLES))


@lru_cache(maxsize=1 << 15)
def pe_access(operand: Operand, default: MaskRef | None = None) -> PeAccess | None:
    """The access of a PE operand, None for places that are not PE state (paths, ids, memories above the PE).

    `default` is the write mask of the `mask` statement, used where the operand names none.
    """
    place, address = operand.place, operand.address
    enabled = enabled_cycles(operand.mask or default)
    if place in PE_MEMORIES:
        return _memory_access(operand, address or Address(0), enabled)
    if place is Place.T:
        return PeAccess(place, (0, 1, 2, 3), 1, (None, 4), enabled)
    if place is Place.MASK:
        entry = address.base if address else 0
        return PeAccess(place, (entry, entry, entry, entry), 1, (address, 1), enabled)
    if place in (Place.BAR0, Place.BAR1):
        return PeAccess(place, (0, 0, 0, 0), 1, (None, 1), enabled)
    return None


def _memory_access(operand: Operand, address: Address, enabled: int) -> PeAccess:
    size = PLACES[operand.place].size
    a, b, c, d = address.cycles()
    # `j`: some PEs access one access width further (isa.md 6), so both places count.
    units = operand.width * (1 if address.neighbour is None else 2)
    anywhere = address.indirect and operand.place in LOCAL_MEMORIES
    port = (address, operand.width)
    return PeAccess(operand.place, (a % size, b % size, c % size, d % size), units, port, enabled, anywhere)


@lru_cache(maxsize=1 << 15)
def long_words(access: PeAccess) -> tuple[int, ...]:
    """Long words of a PE memory that the access may touch, ascending; masks are ignored. Words / 2, wrapped."""
    if access.place not in PE_MEMORIES:
        return tuple(sorted(set(access.cycles)))
    size = PLACES[access.place].size
    last = access.units - 1
    return tuple(sorted({w % size >> 1 for a in access.cycles for w in range(a & ~1, a + last + 1, 2)}))
