"""Estimated steps of a reduction, from the operations that its stages emit (isa.md 16: one of each unit in a step)."""

from __future__ import annotations

from pfcomp.kernels.reduction.emission import spreads
from pfcomp.kernels.reduction.geometry import Field, Geometry
from pfcomp.kernels.reduction.local import MABS, PES
from pfcomp.kernels.reduction.monoids import Monoid
from pfcomp.layout import Level

LATENCY = 6
"""Steps until the first result of the stages inside a PE is in local memory."""

FILL = 12
"""Steps for the masks and the writes that make padding neutral."""

L1BM_LATENCY = 3
L2BM_LATENCY = 16
PDM_LATENCY = 24


def steps_of(found: Geometry, monoid: Monoid) -> int:
    """Steps for all vectors; stages of different vectors overlap, the longest unit counts."""
    fields = found.fields
    vectors = -(-len(found.kept) // 4)
    network = bool(monoid.network)
    addresses = len(found.offsets) // (4 // len(found.kept)) + 8 if spreads(found) else len(found.offsets)
    ops = addresses * len(monoid.combine) + 2 * bool(fields[Level.W].reduced)
    ops += _rotations(fields[Level.PE], PES)
    transfers, latency = 0, LATENCY + FILL * found.padded
    if fields[Level.MAB].reduced:
        latency += L1BM_LATENCY
        transfers = 2 if network and fields[Level.MAB].whole else _rotations(fields[Level.MAB], MABS)
    outer = [level for level in (Level.L1B, Level.L2B) if fields[level].reduced]
    if outer:
        rows = 0.25 if fields[Level.MAB].whole else 4
        ways = 1 << sum((field.kept | (0 if network else field.reduced)).bit_count() for field in (fields[Level.L1B],))
        transfers += round(2 * rows * ways)
        latency += L2BM_LATENCY + PDM_LATENCY * (Level.L2B in outer)
    return vectors * max(ops, transfers, 1) + latency


def _rotations(field: Field, extent: int) -> int:
    """Operations for the rotations of a level."""
    total, settled = 0, field.copies
    for bit in reversed(range(extent.bit_length() - 1)):
        if field.reduced >> bit & 1:
            above = (extent - 1) & ~((2 << bit) - 1)
            total += 2 if above & ~settled == 0 else 4
            settled |= 1 << bit
    return total
