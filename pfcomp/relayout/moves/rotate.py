"""Exchange of MAB places with address items by rotations through L1BM (M5, M5b).

With f the value of the places `low`..`low + size - 1`, a PE sends in round s what belongs to the MABs whose f is s
higher, and the row comes down shifted by s fields. Where the field reaches the top of the MAB's number the rotation
wraps as f does, and n = 2 ** size rounds suffice; otherwise s runs from 1 - n to n - 1 and MABs outside ignore what
comes down.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from pfcomp.isa.model import MaskRef, Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.operands import WORDS
from pfcomp.kernels.transfer import L1BM_SIZE
from pfcomp.layout import Level
from pfcomp.relayout.moves import lanes
from pfcomp.relayout.moves.model import COPY, MAB, Places, Store, Universe, by_stride, combinations, count

MABS = 16
ROW = 64
"""Long words that one address of all PEs of an L1B takes."""

ROUND_STEPS = 2
"""Setting a pointer and the step before it can be used."""

SETUP_STEPS = 6


@dataclass(frozen=True, slots=True)
class Rotate:
    """The MAB places `low`..`low + size - 1` take items of the address or copies; theirs go there."""

    universe: Universe
    before: Places
    after: Places
    low: int
    size: int

    @property
    def steps(self) -> int:
        quads = -(-count(self.universe, self._others()) // 4)
        rounds = len(self._rounds())
        sent = 1 if self._all_copies() else rounds
        masks = 0 if self._wraps() else rounds
        return (sent + rounds) * (quads + ROUND_STEPS) + masks + SETUP_STEPS

    @property
    def exact(self) -> bool:
        """A pointer may lead to a value that the digit does not have."""
        arriving = [self.before[p] for p in self._field()]
        return not any(item in limit.items for limit in self.universe.limits for item in arriving)

    def _field(self) -> tuple[int, ...]:
        return MAB[self.low : self.low + self.size]

    def _others(self) -> tuple[int, ...]:
        return tuple(i for i in self.universe.address_items(self.before) if i not in self.after)

    def _all_copies(self) -> bool:
        return all(self.after[p] == COPY for p in self._field())

    def _wraps(self) -> bool:
        return self.low + self.size == len(MAB)

    def _rounds(self) -> tuple[int, ...]:
        kept = sum(1 << bit for bit, place in enumerate(self._field()) if self.before[place] != COPY)
        return _rounds(1 << self.size, kept, self._wraps())

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        rounds = self._rounds()
        others = combinations(self.universe, by_stride(self._others(), target))
        reads, writes = source.addresses(others).tolist(), target.addresses(others).tolist()
        rows = 4 * (L1BM_SIZE // ROW // 4 // len(rounds))
        for start in range(0, len(reads), rows):
            self._batch(context, rounds, (source, reads[start : start + rows]), (target, writes[start : start + rows]))

    def _batch(
        self,
        context: KernelContext,
        rounds: tuple[int, ...],
        source: tuple[Store, list[int]],
        target: tuple[Store, list[int]],
    ) -> None:
        quads = -(-len(source[1]) // 4)
        sent = rounds[:1] if self._all_copies() else rounds
        buffer = context.rings.l1bm.take(len(sent) * quads * 4 * ROW, ROW)
        place = {shift: buffer + number * quads * 4 * ROW for number, shift in enumerate(sent)}
        pointers = _Fields(context, self.low, self.size)
        up = lanes.Pointer(context.builder, source[0].location)
        for shift in sent:
            pointers.set(shift, self._weights(self.after, source[0]), up.register)
            for start in range(0, len(source[1]), 4):
                row = operands.l1bm(place[shift] + ROW * start)
                context.builder.op("l1bmd", up.at(source[1][start : start + 4]), to=row)
        up.reset()
        down = lanes.Pointer(context.builder, target[0].location)
        for shift in rounds:
            mask = None if self._wraps() or shift == 0 else pointers.mask(-shift)
            pointers.set(-shift, self._weights(self.before, target[0]), down.register)
            turn = (shift << self.low) % MABS
            for start in range(0, len(target[1]), 4):
                row = operands.l1bm(place.get(shift, buffer) + ROW * start)
                to = _masked(down.at(target[1][start : start + 4]), mask)
                context.builder.op(f"l1bmd+{turn}" if turn else "l1bmd", row, to=to)
        down.reset()

    def _weights(self, places: Places, store: Store) -> tuple[int, ...]:
        """Words that each bit of the field's value is worth in `store`."""
        return tuple(WORDS * store.strides[i] if (i := places[p]) >= 0 else 0 for p in self._field())


@lru_cache(maxsize=256)
def _rounds(n: int, kept: int, wraps: bool) -> tuple[int, ...]:
    """The shifts that bring every MAB all values of the bits `kept` of a field; equal copies are brought once."""
    rounds: list[int] = []
    seen: set[tuple[int, int]] = set()
    for shift in range(n) if wraps else [0, *(s for k in range(1, n) for s in (k, -k))]:
        come = [(f, (f - shift) % n & kept) for f in range(n) if wraps or 0 <= f - shift < n]
        if not seen.issuperset(come):
            rounds.append(shift)
            seen.update(come)
    return tuple(rounds)


def _masked(operand: Operand, mask: int | None) -> Operand:
    return operand if mask is None else replace(operand, mask=MaskRef(mask))


class _Fields:
    """Pointers and masks that follow from the field f of a MAB's number."""

    def __init__(self, context: KernelContext, low: int, size: int) -> None:
        self.context, self.low, self.size = context, low, size
        self.words = lanes.IdentityWords(context.builder)
        self.values: dict[int, Virtual] = {}
        self.sums: dict[tuple[int, int], Virtual] = {}
        self.pointers: dict[tuple[int, tuple[int, ...]], Virtual] = {}

    def value(self, place: int) -> Virtual:
        """The field, moved to bit `place`."""
        if place not in self.values:
            self.values[place] = self.words.field(lanes.IDENTITY[Level.MAB], self.low, self.size, place)
        return self.values[place]

    def set(self, shift: int, weights: tuple[int, ...], register: str) -> None:
        """Write the sum of the weights of the bits of (f + shift) mod n to `register`."""
        op = self.context.builder.op
        key = shift % (1 << self.size), weights
        if key in self.pointers:
            op("ipassa", self.pointers[key], to=register)
            return
        terms = [lanes.Term(Level.MAB, bit, words) for bit, words in enumerate(weights)]
        parts = [(run, bit) for run in lanes.runs(terms) for bit in lanes.set_bits(run.words)]
        if not parts:
            op("zero", to=register)
            return
        total: Virtual | None = None
        for number, (run, bit) in enumerate(parts):
            moved = self._moved(key[0], bit - run.low)
            mask = self.words.constant(((1 << run.size) - 1) << bit)
            last = number == len(parts) - 1
            part = op("iand", moved, mask, to=register if last and total is None else None)
            total = part if total is None else op("iadd", total, part, to=register if last else None)
            self.pointers[key] = total

    def _moved(self, added: int, place: int) -> Virtual:
        """f + added, moved by `place` bits; bits beside the field may be anything."""
        op = self.context.builder.op
        if place < 0:
            return op("ilsr", self._moved(added, 0), self.words.constant(-place))
        if added == 0:
            return self.value(place)
        if (added, place) not in self.sums:
            less = 1 if added == 1 or (added - 1, place) in self.sums else added
            addend = self.words.constant(less << place)
            self.sums[added, place] = op("iadd", self._moved(added - less, place), addend)
        return self.sums[added, place]

    def mask(self, shift: int) -> int:
        """A mask entry that holds where f + shift is a value of the field."""
        entry = self.context.mask()
        op = self.context.builder.op
        moved = op("iadd", self.value(0), self.words.constant(shift))
        op("iand", moved, self.words.constant(-(1 << self.size)), to=f"$omr{entry}")
        return entry
