"""What an operation reads and writes, derived from the tables: the common ground of checker and packer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .effects_access import PeAccess, Span, long_words, pe_access
from .effects_hazards import Issue
from .effects_moves import move_spans
from .effects_transfer import transfer_spans
from .model import MaskRef, Op, Operand, Place, Unit
from .roles import form_of
from .tables_forms import Direction
from .tables_places import FORWARDS, MATRICES

__all__ = [
    "Effects", "MaskDefaults", "PeAccess", "Span", "Turnaround", "effects", "long_words", "move_spans",
]  # fmt: skip

MaskDefaults = tuple[tuple[Place, MaskRef], ...]
"""Write masks of the `mask` statement in force, in the order of the places."""

Turnaround = tuple[str, int]
"""Family and width of a turnaround transfer; both must agree between up and down (isa.md 12.3)."""

_T_READ = pe_access(Operand(Place.T, 4))
# Plain integers: operators of IntFlag are too slow for something done for every operand.
_READ_ISSUES: dict[Place, int] = {Place.LM0: int(Issue.LM0_READ), Place.LM1: int(Issue.LM1_READ)}
_WRITE_ISSUES: dict[Place, int] = {
    Place.LM0: int(Issue.LM0_WRITE),
    Place.LM1: int(Issue.LM1_WRITE),
    Place.BAR0: int(Issue.BAR0_WRITE),
    Place.BAR1: int(Issue.BAR1_WRITE),
}
_PATHS: dict[Unit, Place] = {Unit.ALU: Place.ALUF, Unit.MAU: Place.MAUF, Unit.MREAD: Place.MREADF}
_FAMILIES = {
    "l1bmp": "p", "l1bmm": "m", "l1bmr": "m", "l1bmm4": "m4", "l1bmr4": "m4", "l1bmd": "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Effects:
    """Everything an operation touches.

    `reads`/`writes`: PE memories, T, mask registers (`writes` only) and BARs; `span_reads`/`span_writes`: L1BM, L2BM
    and DAR; `paths`: forwarding paths read; `path`: the path that receives the result; `masks`: entries used as
    write mask or zero-flush, entry 0 left out; `matrix_reads`/`matrix_writes`: matrix registers named;
    `turn_read`/`turn_write`: what goes through the turnaround register; `issue`: bits of `Issue` for the hazard table.
    """

    reads: tuple[PeAccess, ...]
    writes: tuple[PeAccess, ...]
    span_reads: tuple[Span, ...]
    span_writes: tuple[Span, ...]
    paths: tuple[Place, ...]
    path: Place | None
    masks: tuple[MaskRef, ...]
    matrix_reads: tuple[Place, ...]
    matrix_writes: tuple[Place, ...]
    turn_read: Turnaround | None
    turn_write: Turnaround | None
    issue: int


@lru_cache(maxsize=1 << 14)
def effects(op: Op, defaults: MaskDefaults = ()) -> Effects:
    """Effects of `op`, whose operands must fit it (`op_errors` is empty), under the default write masks."""
    return find_effects(op, defaults)


def find_effects(op: Op, defaults: MaskDefaults = ()) -> Effects:
    """`effects` without its cache, for operations that occur once."""
    reads, writes = _reads(op), _writes(op, defaults)
    span_reads: tuple[Span, ...] = ()
    span_writes: tuple[Span, ...] = ()
    direction = Direction.PE
    if op.unit in _TRANSFER_UNITS:
        span_reads, span_writes = transfer_spans(op)
        direction = form_of(op).direction
    turn_read, turn_write = _turnaround(op, direction)
    path = _PATHS.get(op.unit)
    if path is None and direction is Direction.DOWN and op.unit is not Unit.L2BM:
        path = Place.LBF
    return Effects(
        reads,
        writes,
        span_reads,
        span_writes,
        tuple([o.place for o in op.sources if o.place in FORWARDS]),
        path,
        _masks(op, defaults),
        tuple([o.place for o in op.sources if o.place in MATRICES]),
        tuple([o.place for o in op.destinations if o.place in MATRICES]),
        turn_read,
        turn_write,
        _issue(op, direction, reads, writes),
    )


_TRANSFER_UNITS = frozenset({Unit.L1BM, Unit.L1BM_TURNAROUND, Unit.L2BM, Unit.DAR_WRITE})


def _indirect(operand: Operand) -> bool:
    return operand.address is not None and operand.address.indirect


def _reads(op: Op) -> tuple[PeAccess, ...]:
    found = [access for operand in op.sources if (access := pe_access(operand)) is not None]
    if _T_READ is not None and any(map(_indirect, op.sources + op.destinations)):
        found.append(_T_READ)
    return tuple(found)


def _default(defaults: MaskDefaults, place: Place) -> MaskRef | None:
    return next((mask for covered, mask in defaults if covered is place), None)


def _writes(op: Op, defaults: MaskDefaults) -> tuple[PeAccess, ...]:
    found = [pe_access(o, _default(defaults, o.place) if defaults else None) for o in op.destinations]
    return tuple([access for access in found if access is not None])


def _masks(op: Op, defaults: MaskDefaults) -> tuple[MaskRef, ...]:
    found = [o.mask or (_default(defaults, o.place) if defaults else None) for o in op.destinations]
    found.append(op.zero_flush)
    return tuple(dict.fromkeys([mask for mask in found if mask is not None and mask.entry]))


def _turnaround(op: Op, direction: Direction) -> tuple[Turnaround | None, Turnaround | None]:
    """What goes out of and into the turnaround register: every up transfer fills it."""
    family = _FAMILIES.get(op.name)
    if family is None:
        return None, None
    if direction is Direction.UP:
        return None, (family, op.destinations[0].width if op.destinations else 2)
    if op.unit is Unit.L1BM_TURNAROUND:
        return (family, op.sources[0].width), None
    return None, None


def _issue(op: Op, direction: Direction, reads: tuple[PeAccess, ...], writes: tuple[PeAccess, ...]) -> int:
    found = _transfer_issue(op, direction) if op.unit in _TRANSFER_UNITS else 0
    for access in reads:
        found |= _READ_ISSUES.get(access.place, 0)
    for access in writes:
        found |= _WRITE_ISSUES.get(access.place, 0)
    return found


def _transfer_issue(op: Op, direction: Direction) -> int:
    if op.unit is Unit.L1BM:
        if direction is Direction.DOWN:
            return int(Issue.L1BM_DOWN)
        written = any(o.place is Place.L1BM for o in op.destinations)
        return int(Issue.L1BM_UP) if written else 0
    if op.unit is Unit.L2BM:
        return _L2BM_ISSUES[direction] if op.name != "l2bmdars" else 0
    return int(Issue.DAR_WRITE) if op.unit is Unit.DAR_WRITE else 0


_L2BM_ISSUES: dict[Direction, int] = {
    Direction.UP: int(Issue.L2BM_UP),
    Direction.DOWN: int(Issue.L2BM_DOWN),
    Direction.SIDE: int(Issue.L2BM_SIDE),
}
