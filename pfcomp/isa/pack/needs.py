"""What an operation occupies in the reservation table of its step (backend-kernels.md 1.1)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from pfcomp.isa.effects import Effects
from pfcomp.isa.effects_hazards import PORT_HAZARDS
from pfcomp.isa.model import Op, Place, Unit


class Port(IntEnum):
    """Ports that several operands may share if they agree on a key."""

    LM0 = 0
    LM1 = 1
    GRF0 = 2
    GRF1 = 3
    MASK = 4
    PRECISION = 5


_READ_PORTS: dict[Place, int] = {
    Place.LM0: Port.LM0,
    Place.LM1: Port.LM1,
    Place.GRF0: Port.GRF0,
    Place.GRF1: Port.GRF1,
}
# Bits of things that one operation of a step has for itself.
_EXCLUSIVE: tuple[Unit | Place, ...] = (
    *Unit,
    Place.GRF0,
    Place.GRF1,
    Place.LM0,
    Place.LM1,
    Place.T,
    Place.MASK,
    Place.BAR0,
    Place.BAR1,
    Place.MATRIX_X,
    Place.MATRIX_Y,
    Place.LBF,  # one transfer to the PEs
    Place.NOWRITE,  # stands for the zero-flush mask
)
_BITS: dict[Unit | Place, int] = {thing: 1 << number for number, thing in enumerate(_EXCLUSIVE)}
GRF_WRITE = (_BITS[Place.GRF0], _BITS[Place.GRF1])
"""Bits of the write ports of GRF0 and GRF1 in `Needs.busy`."""

T_WRITE = _BITS[Place.T]
UNIT_BITS: dict[Unit, int] = {unit: _BITS[unit] for unit in Unit}
ALL_UNITS = sum(UNIT_BITS.values())
MAU_BITS = _BITS[Unit.MAU] | _BITS[Unit.MWRITE] | _BITS[Unit.MREAD]
_FLUSH = _BITS[Place.NOWRITE]
_LITERAL = "imm"
"""Key of the LM0 port while `imm` uses its address bits."""

Forbid = tuple[int, int]
"""Distance in steps and the issue classes that may not stand there."""


@dataclass(frozen=True, slots=True)
class Needs:
    """Fixed needs; those of virtual values are added when the operation is placed.

    `busy`: exclusive things; `classes`: bits of `Issue`; `forbids`: what later steps may not do; `ports`: shared
    ports with their keys, `registers` the keys of GRF0 and GRF1 among them; `second`: position of the operand that
    vfma, vmul and mwrite share (isa.md 16, rule 3).
    """

    busy: int
    classes: int
    forbids: tuple[Forbid, ...]
    ports: tuple[tuple[int, object], ...]
    registers: tuple[object, object]
    mau: bool
    second: int


def needs_of(op: Op, effect: Effects) -> Needs:
    """The needs of `op`, whose virtual sources stand as `$mauf`."""
    busy = UNIT_BITS[op.unit]
    ports: list[tuple[int, object]] = [
        (_READ_PORTS[access.place], access.port) for access in effect.reads if access.place in _READ_PORTS
    ]
    for access in effect.writes:
        busy |= _BITS[access.place]
        if access.place is Place.LM0 or access.place is Place.LM1:
            ports.append((_READ_PORTS[access.place], access.port))
    for place in effect.matrix_reads + effect.matrix_writes:
        busy |= _BITS[place]
    if op.zero_flush is not None:
        busy |= _FLUSH
    if effect.path is Place.LBF:
        busy |= _BITS[Place.LBF]
    if op.immediate is not None:
        ports.append((Port.LM0, _LITERAL))
    mau = bool(busy & MAU_BITS)
    if mau:
        ports.append((Port.PRECISION, op.precision))
    ports += [(int(Port.MASK), (mask.entry, mask.length or "l")) for mask in effect.masks]
    registers = (_key(ports, Port.GRF0), _key(ports, Port.GRF1))
    return Needs(busy, effect.issue, _forbids(effect.issue), tuple(ports), registers, mau, _second(op))


def _key(ports: list[tuple[int, object]], port: int) -> object:
    return next((key for taken, key in ports if taken == port), None)


def _second(op: Op) -> int:
    if op.unit is Unit.MWRITE:
        return 0
    return 1 if op.name in ("vfma", "vmul") else -1


@lru_cache(maxsize=256)
def _forbids(issue: int) -> tuple[Forbid, ...]:
    """For each following step the classes that its operations may not have."""
    by_distance: dict[int, int] = {}
    for hazard in PORT_HAZARDS:
        if issue & hazard.producer:
            for distance in range(1, hazard.gap + 1):
                by_distance[distance] = by_distance.get(distance, 0) | int(hazard.consumer)
    return tuple(sorted(by_distance.items()))
