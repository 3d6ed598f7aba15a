"""Rules of one step: issue groups, ports, masks (isa.md 16)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pfcomp.isa.effects import Effects
from pfcomp.isa.effects_access import FIRST_FIXED_MASK, Port
from pfcomp.isa.model import MaskRef, Op, Place, Step, Unit
from pfcomp.isa.printer import format_op, format_operand
from pfcomp.isa.tables_places import LOCAL_MEMORIES, PLACES

from .findings import Report

Checked = Sequence[tuple[Op, Effects]]
"""The sound operations of a step."""

_MAU_UNITS = (Unit.MAU, Unit.MWRITE, Unit.MREAD)
_SHARING = ("vfma", "vmul")


def check_step(step: Step, ops: Checked, report: Report) -> None:
    """Section 16 for one PE line whose operations are each well formed."""
    if step.repeat != 1 and not step.is_nop:
        report.add("16.1", "a step with operations cannot be repeated")
    if len(step.waits) > 1:
        report.add("16.unit", f"{len(step.waits)} waits in one step")
    if len(ops) > 1:
        _units([op for op, _ in ops], report)
        _mau([op for op, _ in ops if op.unit in _MAU_UNITS], report)
        _overlaps(ops, report)
        if sum(effect.path is Place.LBF for _, effect in ops) > 1:
            report.add("16.lbf", "two transfers to the PEs in a step")
    _ports(ops, report)
    _masks(ops, report)


def _units(ops: Iterable[Op], report: Report) -> None:
    seen: dict[Unit, Op] = {}
    for op in ops:
        if seen.setdefault(op.unit, op) is not op:
            report.add("16.unit", f"two expressions of the group {op.unit.value}: {format_op(op)}")


def _mau(ops: list[Op], report: Report) -> None:
    if len(ops) < 2:
        return
    if len(ops) > 2:
        report.add("16.2", "at most two of mau-calc, mau-mwrite and mau-mread")
    if len({op.precision for op in ops}) > 1:
        report.add("16.2", "MAU expressions of different precisions")
    calc = next((op for op in ops if op.unit is Unit.MAU and op.name in _SHARING), None)
    write = next((op for op in ops if op.unit is Unit.MWRITE), None)
    if calc is not None and write is not None and calc.sources[1] != write.sources[0]:
        second, source = format_operand(calc.sources[1]), format_operand(write.sources[0])
        report.add("16.3", f"mwrite reads {source}, but {calc.name} has {second} on that port")


def _overlaps(ops: Checked, report: Report) -> None:
    written = [(op, span) for op, effect in ops for span in effect.span_writes]
    for k, (op, span) in enumerate(written):
        if any(span.overlaps(other) and op is not first for first, other in written[:k]):
            report.add("16.overlap", f"{format_op(op)} writes {span.place.name} words that another operation writes")


def _ports(ops: Checked, report: Report) -> None:
    reads: dict[Place, Port] = {}
    writes: dict[Place, Port] = {}
    matrices: list[Place] = []
    literal = False
    for op, effect in ops:
        matrices += effect.matrix_reads + effect.matrix_writes
        literal = literal or op.immediate is not None
        for access in effect.reads:
            if reads.setdefault(access.place, access.port) != access.port:
                report.add("16.5", f"{format_op(op)}: {_name(access.place)} is read at two different addresses")
        for access in effect.writes:
            if access.place in writes:
                report.add("16.5", f"{format_op(op)}: {_name(access.place)} is written twice")
            writes[access.place] = access.port
    for place in sorted(LOCAL_MEMORIES & reads.keys() & writes.keys()):
        if reads[place] != writes[place]:
            report.add("16.5", f"{_name(place)} is read and written at different addresses")
    if literal and (Place.LM0 in reads or Place.LM0 in writes):
        report.add("16.6", "imm uses the address bits of LM0")
    if len(matrices) != len(set(matrices)):
        report.add("16.4", "a matrix register is named twice")


def _name(place: Place) -> str:
    return PLACES[place].title


def _masks(ops: Checked, report: Report) -> None:
    used: list[MaskRef] = [mask for _, effect in ops for mask in effect.masks]
    if len(used) < 2:
        return
    if sum(op.zero_flush is not None for op, _ in ops) > 1:
        report.add("16.7", "two zero-flush masks")
    if len({mask.length or "l" for mask in used}) > 1:
        report.add("16.7", "masks of different lengths")
    variable = {mask.entry for mask in used if mask.entry < FIRST_FIXED_MASK}
    fixed = {mask.entry for mask in used if mask.entry >= FIRST_FIXED_MASK}
    if len(variable) > 1:
        report.add("16.5", f"mask entries {', '.join(map(str, sorted(variable)))} are read in one step")
    elif len(variable) + len(fixed) > 1:
        report.add("16.mask", "masks of different entries in one step")
