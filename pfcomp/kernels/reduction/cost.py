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
    """Operations of one vector by the unit that does most of the stage, and the latency of all stages."""

    compute: float = 0
    transfer: float = 0
    latency: float = 0

    def add(self, compute: float = 0, transfer: float = 0, latency: float | None = None) -> None:
        self.compute += compute
        self.transfer += transfer
        self.latency += compute + transfer if latency is None else latency


def steps_of(found: Geometry, monoid: Monoid) -> int:
    """Steps for all vectors, without those that make padding neutral."""
    tally, combine = _Tally(), len(monoid.combine)
    tally.add(compute=_addresses(found) * combine + STORE)
    if found.fields[Level.W].reduced:
        tally.add(compute=1 + combine)
    _add_rotations(tally, found.fields[Level.PE], PES, combine, transfers=False)
    mab, fields = found.fields[Level.MAB], found.fields
    leaves = fields[Level.L1B].reduced or fields[Level.L2B].reduced
    if mab.reduced and mab.whole and monoid.network:
        tally.add(transfer=1 if leaves else 2)
    else:
        _add_rotations(tally, mab, MABS, combine, transfers=True)
    if leaves:
        _add_outer(tally, found, combine, network=bool(monoid.network))
    more = -(-len(found.kept) // VECTOR) - 1
    return round(tally.latency + more * max(tally.compute, tally.transfer))


def _addresses(found: Geometry) -> int:
    """Operations to combine the addresses of a vector."""
    count = len(found.offsets)
    return count // (VECTOR // len(found.kept)) + SPREAD if spreads(found) else count - 1


def _add_rotations(tally: _Tally, field: Field, extent: int, combine: int, *, transfers: bool) -> None:
    settled = field.copies
    for bit in reversed(range(extent.bit_length() - 1)):
        if field.reduced >> bit & 1:
            above = (extent - 1) & ~((2 << bit) - 1)
            ways = 1 if above & ~settled == 0 else 2
            merge = combine + (ways > 1)
            if transfers:
                tally.add(merge, 1 + ways, merge + 1 + ways + L1BM_TURN - 1)
            else:
                tally.add(merge + (ways if ways > 1 else 1 << bit))
            tally.latency += MASKS * (ways > 1)
            settled |= 1 << bit


def _add_outer(tally: _Tally, found: Geometry, combine: int, *, network: bool) -> None:
    """L1Bs and L2Bs: transfers of each vector, its share of rows that travel together, MVs."""
    l1b, l2b = found.fields[Level.L1B], found.fields[Level.L2B]
    equal = found.fields[Level.MAB].whole
    kept = 1 << l1b.kept.bit_count()
    collected = 1 if network else 1 << l1b.reduced.bit_count()
    sources, rows, moves = 1, 1, 0
    if l2b.reduced:
        reduces = network and l2b.whole
        sources = 1 if reduces else 1 << l2b.reduced.bit_count()
        rows = 1 if reduces else sources << l2b.kept.bit_count()
        moves = 2 if reduces else rows + 1
    parts = sources * collected
    row = 0.25 if equal else 4.0  # L2BM steps of a vector
    up, down = kept * collected * row, kept * collected * rows * row
    merges = combine * (parts - 1) + max(0, rows // sources - 1) * parts
    tally.add(merges, 2 + up + down, 0)
    whole = max(1.0, row)
    tally.latency += 2 + L2BM_TURN + kept * collected * whole * (1 + rows) + merges + MOVE * moves
