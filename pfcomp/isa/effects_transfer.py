"""Which long words of L1BM, L2BM and DAR an L1BM or L2BM operation touches (isa.md 12 and 13)."""

from __future__ import annotations

from .effects_access import FULL_MEMBERS, Span, spans
from .model import Op, Operand, Place
from .tables_places import PLACES
from .tables_transfers import TRANSFERS

SpanPair = tuple[tuple[Span, ...], tuple[Span, ...]]
_ALL_L1B = FULL_MEMBERS[Place.L1BM]
_ALL_L2B = FULL_MEMBERS[Place.L2BM]
_EVERY_GROUP = 0b01010101  # L2B 0 of each group; shifted by one: L2B 1


def transfer_spans(op: Op) -> SpanPair:
    """The spans that `op` reads and writes; PE operands and the turnaround register have none."""
    if op.name == "l2bmdarw":
        return (), spans(Place.DAR, 0, PLACES[Place.DAR].size, FULL_MEMBERS[Place.DAR])
    reads = [s for operand in op.sources for s in _operand_spans(op, operand)]
    writes = [s for operand in op.destinations for s in _operand_spans(op, operand)]
    return tuple(reads), tuple(writes)


def _operand_spans(op: Op, operand: Operand) -> tuple[Span, ...]:
    transfer = TRANSFERS[op.name]
    base = operand.address.base if operand.address else 0
    if operand.place is Place.L1BM:
        wide = operand.width == 4 and transfer.span2 > 0
        return spans(Place.L1BM, base, transfer.span2 if wide else transfer.span1, _l1b_members(op))
    if operand.place is Place.L2BM:
        members = _ALL_L2B if operand.l2b is None else _EVERY_GROUP << operand.l2b
        return spans(Place.L2BM, base, transfer.l2bm, members)
    if operand.place is Place.DAR:
        return spans(Place.DAR, 0, PLACES[Place.DAR].size, FULL_MEMBERS[Place.DAR])
    return ()


def _l1b_members(op: Op) -> int:
    """Bits of the L1Bs whose L1BM takes part; all for PE transfers, which every L1B does alike."""
    if op.l1b_set is not None and op.name != "l2bmi":
        return sum(1 << b for b in op.l1b_set.members())
    if op.name == "l2bm" and op.select is not None:
        return 1 << op.select
    return _ALL_L1B
