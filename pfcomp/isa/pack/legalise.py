"""Copies around operations whose operands do not fit the ports of one step (isa.md 16, rules 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Protocol

from pfcomp.isa.model import Op, Operand, Place, Unit
from pfcomp.isa.tables_places import LOCAL_MEMORIES, PE_MEMORIES

from .micro import MicroMove, MicroOp, Virtual, bad_operation, placeholder
from .values import result_path, result_width

Sources = tuple[Virtual | Operand, ...]


class Emitter(Protocol):
    """The part of `Builder` that is needed here."""

    def append(self, template: Op, sources: Sources, to: tuple[Operand, ...], width: int | None) -> Virtual:
        """Emit one operation as it is."""


@cache
def copy_template() -> Op:
    """`lpassa` without operands."""
    return Op(Unit.ALU, "passa", "l")


def emit(emitter: Emitter, template: Op, sources: Sources, to: tuple[Operand, ...], width: int | None) -> Virtual:
    """Emit `template` with copies of sources and destinations where it needs them; returns its value."""
    fitting, reads = _fit_sources(emitter, sources)
    now, later = _split(template, to, reads)
    if not later:
        return emitter.append(template, fitting, now, width)
    least = max(target.width for target in later)
    natural = width or _width(template, fitting)
    value = emitter.append(template, fitting, now, 4 if least == 4 else natural)
    for target in later:
        emitter.append(copy_template(), (value,), (target,), None)
    return value


def _width(template: Op, sources: Sources) -> int:
    return result_width(replace(template, sources=tuple(s for s in sources if isinstance(s, Operand))), sources)


def _fit_sources(emitter: Emitter, sources: Sources) -> tuple[Sources, dict[Place, tuple[object, int]]]:
    """Sources with at most one set of addresses for each memory, and these by memory."""
    reads: dict[Place, tuple[object, int]] = {}
    fitting: list[Virtual | Operand] = []
    for source in sources:
        if isinstance(source, Operand) and source.place in PE_MEMORIES:
            port = (source.address, source.width)
            if reads.setdefault(source.place, port) != port:
                fitting.append(_copied(emitter, source))
                continue
        fitting.append(source)
    return tuple(fitting), reads


def _copied(emitter: Emitter, source: Operand) -> Virtual:
    plain = replace(source, negate=False, suffix="")
    value = emitter.append(copy_template(), (plain,), (), None)
    return replace(value, negate=source.negate, suffix=source.suffix)


def _split(
    template: Op, to: tuple[Operand, ...], reads: dict[Place, tuple[object, int]]
) -> tuple[tuple[Operand, ...], tuple[Operand, ...]]:
    """Destinations that the operation can write itself, and those that need a copy afterwards."""
    if result_path(template) is None:
        return to, ()
    now: list[Operand] = []
    later: list[Operand] = []
    for target in to:
        local = target.place in LOCAL_MEMORIES
        differs = local and reads.get(target.place, (target.address, target.width)) != (target.address, target.width)
        taken = any(other.place is target.place for other in now)
        literal = template.immediate is not None and target.place is Place.LM0
        (later if differs or taken or literal else now).append(target)
    _refuse_masks(now, later)
    return tuple(now), tuple(later)


def relieve(ops: Sequence[MicroOp | MicroMove]) -> Iterator[MicroOp | MicroMove]:
    """Give results that are used a free write port: of two register file destinations one is copied afterwards."""
    used = {virtual.index for op in ops if isinstance(op, MicroOp) for _, virtual in op.uses}
    for op in ops:
        if isinstance(op, MicroOp) and op.result is not None and op.result.index in used and _writes_both(op.op):
            yield from _relieved(op, op.result)
        else:
            yield op


def _writes_both(op: Op) -> bool:
    places = {target.place for target in op.destinations}
    return Place.GRF0 in places and Place.GRF1 in places


def _relieved(micro: MicroOp, result: Virtual) -> Iterator[MicroOp]:
    targets = micro.op.destinations
    moved = next(t for t in targets if t.place is Place.GRF1)
    kept = tuple(t for t in targets if t is not moved)
    _refuse_masks(list(kept), [moved])
    if moved.width > result.width:
        raise bad_operation("a used value is narrower than one of its two register destinations")
    yield replace(micro, op=replace(micro.op, destinations=kept))
    copy = replace(copy_template(), sources=(placeholder(result),), destinations=(moved,))
    yield MicroOp(copy, ((0, result),), None, micro.node)


def _refuse_masks(now: list[Operand], later: list[Operand]) -> None:
    """A copy has other flags, and it would see masks that the operation itself writes."""
    written = {t.address.base for t in now if t.place is Place.MASK and t.address is not None}
    for target in later:
        if target.place is Place.MASK:
            raise bad_operation("an operation writes one mask register")
        if target.mask is not None and target.mask.entry in written:
            raise bad_operation("an operation writes the mask of a destination that needs a copy")
