"""Constants that were loaded and local memory that was read a few operations ago: the value is still there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pfcomp.isa.effects import long_words
from pfcomp.isa.effects_access import pe_access
from pfcomp.isa.model import Op, Place
from pfcomp.isa.tables_places import LOCAL_MEMORIES

from .micro import MicroMove, MicroOp, MicroProgram, Virtual, placeholder

REACH = 32
"""Operations after which a value is made anew, which bounds how long it keeps a register."""

BASES = {Place.BAR0: Place.LM0, Place.BAR1: Place.LM1}


@dataclass(frozen=True, slots=True)
class _Made:
    """A value, which operation made it, and the long words of local memory that it was read from."""

    index: int
    value: Virtual
    place: Place | None
    words: frozenset[int]


def without_repeats(micro: MicroProgram) -> MicroProgram:
    """The same program; operations without operands and plain reads of local memory are done once."""
    return replace(micro, ops=tuple(_Remover().run(micro)))


class _Remover:
    def __init__(self) -> None:
        self._made: dict[Op, _Made] = {}
        self._instead: dict[int, Virtual] = {}

    def run(self, micro: MicroProgram) -> Iterator[MicroOp | MicroMove]:
        """All operations in order, without repeated ones."""
        for index, item in enumerate(micro.ops):
            if isinstance(item, MicroMove):
                yield item
                continue
            self._forget(index)
            if not _repeatable(item) or not self._known(index, item):
                self._overwrite(item)
                yield self._renamed(item)

    def _forget(self, index: int) -> None:
        """Drop values made too long ago to be used; the oldest are first."""
        while self._made:
            op = next(iter(self._made))
            if index - self._made[op].index <= REACH:
                return
            del self._made[op]

    def _known(self, index: int, item: MicroOp) -> bool:
        """True if the result exists; else it will be remembered."""
        known, result = self._made.get(item.op), item.result
        if result is None:
            return False
        if known is not None and known.value.width == result.width:
            self._instead[result.index] = known.value
            return True
        access = pe_access(item.op.sources[0]) if item.op.sources else None
        words = frozenset[int]() if access is None else frozenset(long_words(access))
        self._made.pop(item.op, None)
        self._made[item.op] = _Made(index, result, None if access is None else access.place, words)
        return False

    def _renamed(self, item: MicroOp) -> MicroOp:
        if not any(virtual.index in self._instead for _, virtual in item.uses):
            return item
        uses, sources = [], list(item.op.sources)
        for position, virtual in item.uses:
            value = self._instead.get(virtual.index, virtual)
            read = replace(value, negate=virtual.negate, suffix=virtual.suffix)
            uses.append((position, read))
            sources[position] = placeholder(read)
        return replace(item, op=replace(item.op, sources=tuple(sources)), uses=tuple(uses))

    def _overwrite(self, item: MicroOp) -> None:
        """Forget values that were read from what the operation writes."""
        for target in item.op.destinations:
            place = BASES.get(target.place, target.place)
            if place not in LOCAL_MEMORIES:
                continue
            access = pe_access(target) if place is target.place else None
            words = None if access is None or access.anywhere else frozenset(long_words(access))
            for op, made in list(self._made.items()):
                if made.place is place and (words is None or words & made.words):
                    del self._made[op]


def _repeatable(item: MicroOp) -> bool:
    """True for what makes the same value every time, unless local memory changes in between."""
    op = item.op
    if item.result is None or item.uses or op.destinations or op.zero_flush is not None:
        return False
    if not op.sources:
        return op.immediate is not None or op.name == "zero"
    if op.name != "passa" or op.sources[0].place not in LOCAL_MEMORIES:
        return False
    access = pe_access(op.sources[0])
    return access is not None and not access.anywhere
