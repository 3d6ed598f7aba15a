"""Properties of results: which path they come out of, how wide they are, whether all cycles are equal."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.isa.model import Op, Operand, Place, Unit
from pfcomp.isa.roles import form_of
from pfcomp.isa.tables import OPS
from pfcomp.isa.tables_forms import Direction
from pfcomp.isa.tables_places import IDS, MATRICES, PE_MEMORIES

from .micro import Virtual

_PATHS: dict[Unit, Place] = {
    Unit.ALU: Place.ALUF,
    Unit.MAU: Place.MAUF,
    Unit.MREAD: Place.MREADF,
    Unit.L1BM_TURNAROUND: Place.LBF,
}
# Addends of half operations are four singles unless they carry `e` (isa.md 10, 11.3): operation -> position.
_HALF_ADDENDS: dict[str, int] = {"vadd": 1, "vfma": 2, "mfma": 2}


def result_path(op: Op) -> Place | None:
    """The forwarding path that the operation fills; None for mwrite, transfers up and L2BM operations."""
    if op.unit is Unit.L1BM:
        return Place.LBF if form_of(op).direction is Direction.DOWN else None
    return _PATHS.get(op.unit)


def result_width(op: Op, sources: Sequence[Virtual | Operand]) -> int:
    """Words of the result that mean something: 2 or 4 (isa.md 9.1, 10, 11.2, 12.1)."""
    if op.unit is Unit.MAU or op.unit is Unit.MREAD:
        return 4 if op.precision == "h" and not op.narrow else 2
    if op.unit is Unit.ALU:
        wide = OPS[op.name].lanes128 and any(s.width == 4 and s.suffix != "r" and _stored(s) for s in sources)
        return 4 if wide else 2
    return 4 if op.sources and op.sources[0].width == 4 else 2


def _stored(source: Virtual | Operand) -> bool:
    return isinstance(source, Virtual) or source.place in PE_MEMORIES


def is_uniform(op: Op, sources: Sequence[Virtual | Operand]) -> bool:
    """True if the result is certainly the same in all four cycles."""
    return op.unit in (Unit.ALU, Unit.MAU) and op.zero_flush is None and all(map(_same_each_cycle, sources))


def _same_each_cycle(source: Virtual | Operand) -> bool:
    if isinstance(source, Virtual):
        return source.uniform
    if source.place in IDS:
        return True
    if source.place in MATRICES or source.address is None or source.address.indirect:
        return False
    return len(set(source.address.cycles())) == 1


def missing_words(op: Op, sources: Sequence[Virtual | Operand]) -> tuple[str, ...]:
    """Complaints about two-word values where the operation reads four words."""
    return tuple(
        f"source {k + 1} of {op.precision}{op.name} is four words wide, the value has two"
        for k, source in enumerate(sources)
        if isinstance(source, Virtual) and source.width < 4 and _reads_four(op, k, source)
    )


def _reads_four(op: Op, position: int, source: Virtual) -> bool:
    if source.suffix == "r":
        return True
    if op.precision == "h" and _HALF_ADDENDS.get(op.name) == position:
        return source.suffix != "e"
    wide = any(d.width == 4 and d.place is not Place.T for d in op.destinations)
    return wide and (OPS[op.name].lanes128 or op.unit in (Unit.L1BM, Unit.MWRITE))
