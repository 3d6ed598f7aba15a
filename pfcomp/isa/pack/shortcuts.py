"""Reading a result instead of the local memory it was just written to: saves the two steps of H3 and a port."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pfcomp.isa.effects import PeAccess, long_words
from pfcomp.isa.effects_access import pe_access
from pfcomp.isa.model import Operand, Place
from pfcomp.isa.tables_places import LOCAL_MEMORIES, PE_MEMORIES

from .micro import MicroMove, MicroOp, MicroProgram, Virtual, placeholder
from .values import missing_words

REACH = 24
"""Operations after which a result is not worth a register any more."""

WIDTH = 2
"""Words of the accesses that qualify: a forwarded value has junk where a narrower read has zeros."""

MOST_REGISTERS = 1
"""Other values and registers that the reader may have: with two more it would want three read ports."""


@dataclass(frozen=True, slots=True)
class _Stored:
    """The result that a long word of local memory holds."""

    index: int
    access: PeAccess
    value: Virtual


def shorten(micro: MicroProgram) -> MicroProgram:
    """The same program, reading fresh results as values where the memory holds exactly them."""
    return replace(micro, ops=tuple(_Shortener().run(micro)))


class _Shortener:
    def __init__(self) -> None:
        self._held: dict[Place, dict[int, _Stored]] = {place: {} for place in sorted(LOCAL_MEMORIES)}

    def run(self, micro: MicroProgram) -> Iterator[MicroOp | MicroMove]:
        """All operations in order."""
        for index, item in enumerate(micro.ops):
            if isinstance(item, MicroMove):
                yield item
                continue
            shortened = self._shorten(index, item)
            self._note(index, item)
            yield shortened

    def _shorten(self, index: int, item: MicroOp) -> MicroOp:
        for position, operand in enumerate(item.op.sources):
            stored = self._lookup(index, operand)
            if stored is None or _wide(item, position, stored.value):
                continue
            if len({v.index for _, v in item.uses}) + _registers(item) <= MOST_REGISTERS:
                item = _using(item, position, stored.value)
        return item

    def _lookup(self, index: int, operand: Operand) -> _Stored | None:
        if operand.place not in LOCAL_MEMORIES or operand.width != WIDTH:
            return None
        access = pe_access(replace(operand, negate=False, suffix=""))
        if access is None or access.anywhere:
            return None
        held = self._held[operand.place]
        stored = [held.get(word) for word in long_words(access)]
        first = stored[0]
        if first is None or index - first.index > REACH or first.access != access:
            return None
        return first if all(other is first for other in stored) else None

    def _note(self, index: int, item: MicroOp) -> None:
        """Forget what the operation overwrites, remember its own result."""
        for target in item.op.destinations:
            access = pe_access(target)
            if target.place in (Place.BAR0, Place.BAR1):
                self._held[Place.LM0 if target.place is Place.BAR0 else Place.LM1].clear()
            if access is None or target.place not in LOCAL_MEMORIES:
                continue
            held = self._held[target.place]
            if access.anywhere:
                held.clear()
                continue
            for word in long_words(access):
                held.pop(word, None)
            if item.result is not None and target.mask is None and target.width == WIDTH and _distinct(access):
                stored = _Stored(index, access, item.result)
                held.update(dict.fromkeys(long_words(access), stored))


def _distinct(access: PeAccess) -> bool:
    """True if every cycle writes words of its own, so that all four are still there."""
    return len(long_words(access)) == len(access.cycles) and len(set(access.cycles)) == len(access.cycles)


def _registers(item: MicroOp) -> int:
    registers = {o.place for o in item.op.sources if o.place in PE_MEMORIES and o.place not in LOCAL_MEMORIES}
    return len(registers)


def _wide(item: MicroOp, position: int, value: Virtual) -> bool:
    """True if the second long word matters, which the memory would deliver as zero."""
    sources = [value if k == position else o for k, o in enumerate(item.op.sources)]
    exposed = any(target.place is Place.T for target in item.op.destinations)
    return exposed or value.width != WIDTH or bool(missing_words(item.op, sources))


def _using(item: MicroOp, position: int, value: Virtual) -> MicroOp:
    operand = item.op.sources[position]
    read = replace(value, negate=operand.negate, suffix=operand.suffix)
    sources = tuple(placeholder(read) if k == position else o for k, o in enumerate(item.op.sources))
    uses = tuple(sorted((*item.uses, (position, read)), key=lambda use: use[0]))
    return replace(item, op=replace(item.op, sources=sources), uses=uses)
