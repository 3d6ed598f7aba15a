"""Estimated steps of a reduction, from the operations that its stages emit (isa.md 16, 17).

Stages of different vectors overlap, so each vector after the first costs what the busiest unit does for it; the first
one costs the sum of all latencies.
"""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.kernels.reduction.emission import VECTOR, spreads
from pfcomp.kernels.reduction.geometry import Field, Geometry
from pfcomp.kernels.reduction.local import MABS, PES
from pfcomp.kernels.reduction.monoids import Monoid
from pfcomp.kernels.reduction.network import L1BS
from pfcomp.layout import Level

STORE = 1
MASKS = 3
"""Steps for the masks of a field of which only half of the lanes look up."""

L1BM_TURN = 3
"""Steps between a transfer up and the transfer down that reads it from L1BM."""

L2BM_TURN = 8
"""Steps from L1BM through L2BM and back to the PEs, beside the transfers themselves."""

MOVE = 4
"""Steps between two MVs."""

SPREAD = 9
"""Steps for the detour of `Emission._spread`."""


@dataclass(slots=True)
class _Tally:
    """Operations of one vector by unit, and the latency of all stages; `combine` operations make one combination."""

    combine: int
    on_mau: bool
    alu: float = 0
    mau: float = 0
    transfer: float = 0
    latency: float = 0

    def add(self, combinations: float = 0, moves: float = 0, transfers: float = 0) -> None:
        """Combinations, ALU operations beside them, and transfers, all one after the other."""
        work = combinations * self.combine
        if self.on_mau:
            self.mau += work
        else:
            self.alu += work
        self.alu += moves
        self.transfer += transfers
        self.latency += work + moves + transfers

    def busiest(self) -> float:
        return max(self.alu, self.mau, self.transfer)


def steps_of(found: Geometry, monoid: Monoid) -> int:
    """Steps for all vectors, without those that make padding neutral."""
    fields = found.fields
    tally = _Tally(len(monoid.combine), monoid.combine[0][1] == "v")
    tally.add(_addresses(found), STORE)
    if fields[Level.W].reduced:
        tally.add(1, 1)
    _add_rotations(tally, fields[Level.PE], PES, transfers=False)
    leaves = fields[Level.L1B].reduced or fields[Level.L2B].reduced
    if fields[Level.MAB].reduced and fields[Level.MAB].whole and monoid.network:
        tally.add(transfers=1 if leaves else 2)
    else:
        _add_rotations(tally, fields[Level.MAB], MABS, transfers=True)
    if leaves:
        _add_outer(tally, found, network=bool(monoid.network))
    more = -(-len(found.kept) // VECTOR) - 1
    return round(tally.latency + more * tally.busiest())


def _addresses(found: Geometry) -> int:
    """Operations to combine the addresses of a vector."""
    count = len(found.offsets)
    return count // (VECTOR // len(found.kept)) + SPREAD if spreads(found) else count - 1


def _add_rotations(tally: _Tally, field: Field, extent: int, *, transfers: bool) -> None:
    settled = field.copies
    for bit in reversed(range(extent.bit_length() - 1)):
        if field.reduced >> bit & 1:
            above = (extent - 1) & ~((2 << bit) - 1)
            both = above & ~settled != 0
            if transfers:
                tally.add(1, both, 2 + both)
                tally.latency += L1BM_TURN - 1
            else:
                tally.add(1, 3 if both else 1 << bit)
            tally.latency += MASKS * both
            settled |= 1 << bit


def _add_outer(tally: _Tally, found: Geometry, *, network: bool) -> None:
    """L1Bs and L2Bs: transfers of each vector, its share of rows that travel together, MVs."""
    l1b, l2b = found.fields[Level.L1B], found.fields[Level.L2B]
    kept = 1 << l1b.kept.bit_count()
    collected = 1 if network else 1 << l1b.reduced.bit_count()
    sources, rows, moves = 1, 1, 0
    if l2b.reduced:
        reduces = network and l2b.whole
        sources = 1 if reduces else 1 << l2b.reduced.bit_count()
        rows = 1 if reduces else sources << l2b.kept.bit_count()
        moves = 2 if reduces else rows + 1
    parts, passes = sources * collected, kept * collected * (1 + rows)
    steps = 0.25 if found.fields[Level.MAB].whole else 4.0  # of L2BM for a row of a vector
    if kept == L1BS:
        steps /= 4  # l2bmd moves a quarter of the rows of all L1Bs
    tally.add(parts - 1, max(0, rows // sources - 1) * parts)
    tally.transfer += 2 + passes * steps
    tally.latency += 2 + L2BM_TURN + passes * max(1.0, steps) + MOVE * moves
