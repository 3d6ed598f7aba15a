"""Reductions over lanes: words, PEs, MABs, L1Bs and L2Bs, the result in all places (isa.md 12 to 14).

Where the network knows the operation and every lane of a level takes part, it reduces on the way. Otherwise all
contributions are brought to every PE that needs them and combined there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

from pfcomp.isa.model import CYCLES, Operand, Place
from pfcomp.kernels import operands
from pfcomp.kernels.reduction.geometry import Field
from pfcomp.kernels.reduction.local import L1BM_ROW, MABS, PES, LocalReduction
from pfcomp.kernels.reduction.stream import Value
from pfcomp.layout import Level

L2BM_STEP = 64
"""Long words that an L2BM operation moves at the side of one L1B."""

DEALT = 32
"""Long words of each L1B that one l2bmd step moves."""

TURNAROUND = Operand(Place.TURNAROUND)
L1BS = 8

Finish = Callable[[int, Value], None]
"""What is done with the result of the vector at a position."""


def subsets(bits: int) -> list[int]:
    """All numbers whose set bits are among `bits`, ascending."""
    return [value for value in range(bits + 1) if value & ~bits == 0]


def member_set(base: int, dont_care: int) -> str:
    """Suffix for the L1Bs that agree with `base` outside `dont_care` (isa.md 13.1)."""
    return "" if dont_care == L1BS - 1 else f"@{base}/{dont_care}"


@dataclass(frozen=True, slots=True)
class Form:
    """How vectors travel between PEs and L1BM: long words for each, transfer up (before any reduction) and down."""

    words: int
    up: str
    down: str


ROWS = Form(CYCLES * L1BM_ROW, "l1bmd", "l1bmd")
EQUAL_MABS = Form(16, "l1bmm@0", "l1bmm")


class LaneReduction:
    """The stages of one reduction across lanes; `fields` are those of its geometry."""

    def __init__(self, local: LocalReduction, fields: dict[Level, Field]) -> None:
        self.local, self.e = local, local.e
        self.builder, self.rings = local.context.builder, local.context.rings
        self.fields = fields
        self.mab, self.l1b, self.l2b = fields[Level.MAB], fields[Level.L1B], fields[Level.L2B]
        known = local.monoid.network
        self.mab_network = known if self.mab.reduced and self.mab.whole else ""
        self.l1b_network = known if self.l1b.reduced else ""
        self.l2b_network = known if self.l2b.reduced and self.l2b.whole else ""
        self.form = EQUAL_MABS if self.mab.whole else ROWS

    @property
    def leaves_l1b(self) -> bool:
        """The reduction goes beyond an L1B."""
        return bool(self.l1b.reduced or self.l2b.reduced)

    @property
    def batch(self) -> int:
        """How many vectors travel together: they fill steps of L2BM, and MVs of a fair size."""
        if not self.leaves_l1b:
            return 1
        vectors = max(1, L2BM_STEP // self.form.words)
        return 4 * vectors if self.l2b_network or (self.l2b.reduced and self.form is EQUAL_MABS) else vectors

    @property
    def dealt(self) -> bool:
        """Every L1B has rows of its own, so that `l2bmd` moves those of all L1Bs at once."""
        return self.l1b.kept == L1BS - 1

    def reduce(self, vectors: Sequence[Value], finish: Finish) -> None:
        """Reduce at most `batch` vectors and hand each result on as soon as it is there, with its position."""
        sent = [self._once(self._inside(x)) for x in vectors]
        if not self.leaves_l1b:
            for position, x in enumerate(sent):
                finish(position, self._over_mabs(x) if self.mab_network else x)
            return
        words = -(-len(sent) * self.form.words // L2BM_STEP) * L2BM_STEP
        buffer = self.rings.l1bm.take(words, L2BM_STEP)
        up = f"l1bmr{self.mab_network}" if self.mab_network else self.form.up
        for position, x in enumerate(sent):
            self.local.send(up, x, operands.l1bm(buffer + position * self.form.words))
        self._combine(self._over_l2bs(self._over_l1bs(buffer, words)), len(sent), finish)

    def summed(self, buffer: int, words: int) -> int:
        """Sums over L1Bs and L2Bs of `words` long words of L1BM, where the network forms all of them.

        Returns where they lie in L1BM afterwards.
        """
        return self._down(self._over_l2bs(self._over_l1bs(buffer, words)), 0, 0)

    def _inside(self, x: Value) -> Value:
        """Reduce over words and PEs, and over MABs if the network cannot."""
        if any(field.reduced for field in self.fields.values()):
            x = self.local.clean(x)
        if self.fields[Level.W].reduced:
            x = self.local.words(x)
        x = self.local.rotated(Level.PE, x, self.fields[Level.PE], PES)
        return x if self.mab_network else self.local.rotated(Level.MAB, x, self.mab, MABS)

    def _once(self, x: Value) -> Value:
        """The value, 0 in all but one copy where the network would count copies."""
        copies = []
        if self.mab_network and self.mab.copies:
            copies.append((Level.MAB, self.mab.copies))
        if self.l2b_network and self.l2b.copies:
            copies.append((Level.L2B, self.l2b.copies))
        if not copies or self.local.monoid.idempotent:
            return x
        return self.e.op("lpassa" + self.local.masks.first_copies(tuple(copies)), x)

    def _over_mabs(self, x: Value) -> Value:
        self.local.send(f"l1bmr{self.mab_network}", x, TURNAROUND)
        return self.e.op("l1bmm", TURNAROUND)

    def _over_l1bs(self, buffer: int, words: int) -> Rows:
        """Reduce or collect the buffers of the L1Bs in L2BM."""
        if self.dealt:
            start = self.rings.l2bm.take(L1BS * words, L2BM_STEP)
            for offset in range(0, words, DEALT):
                target = operands.l2bm(start + L1BS * offset)
                self.builder.op("l2bmd", operands.l1bm(buffer + offset), to=target)
            return Rows(start, L1BS * words, [0], [0], [0])
        kept = subsets(self.l1b.kept)
        others = [0] if self.l1b_network else subsets(self.l1b.reduced)
        rows = Rows(self.rings.l2bm.take(len(kept) * len(others) * words, L2BM_STEP), words, kept, others, [0])
        for base in kept:
            for other in others:
                if self.l1b_network:
                    mnemonic = f"l2bmr{self.l1b_network}{member_set(base, self.l1b.reduced)}"
                else:
                    mnemonic = f"l2bm@{base | other}"
                for offset in range(0, words, L2BM_STEP):
                    target = operands.l2bm(rows.address(0, base, other) + offset)
                    self.builder.op(mnemonic, operands.l1bm(buffer + offset), to=target)
        return rows

    def _over_l2bs(self, rows: Rows) -> Rows:
        """Reduce or collect the rows of the L2Bs in PDM of group 0, and send them to all L2BMs."""
        if not self.l2b.reduced:
            return rows
        size = rows.size
        if self.l2b_network:
            sources = [0]
            self.builder.move(f"mvr{self.l2b_network}/n{size} $lc{rows.start} $p0@0")
        else:
            sources = subsets(self.l2b.kept | self.l2b.reduced)
            for place, source in enumerate(sources):
                group, chip = divmod(source, 2)
                self.builder.move(f"mvp/n{size} $lc{rows.start}@{group}.{chip} $p{place * size}@0")
        start = self.rings.l2bm.take(len(sources) * size, L2BM_STEP)
        self.builder.move(f"mvb/n{len(sources) * size} $p0@0 $lc{start}")
        return Rows(start, rows.words, rows.kept, rows.others, sources)

    def _combine(self, rows: Rows, count: int, finish: Finish) -> None:
        """Bring all contributions to the PEs and combine them in the same order everywhere."""
        from_l2bs = subsets(self.l2b.reduced) if len(rows.sources) > 1 else [0]
        contributions = list(product(from_l2bs, rows.others))
        totals: list[Value] = []
        for number, (l2b, other) in enumerate(contributions):
            fetch = self._fetch(rows, l2b, other)
            for position in range(count):
                part = fetch(position)
                total = self.local.combine(totals[position], part) if number else part
                if number + 1 == len(contributions):
                    finish(position, total)
                elif number:
                    totals[position] = total
                else:
                    totals.append(total)

    def _fetch(self, rows: Rows, l2b: int, other: int) -> Callable[[int], Value]:
        """One contribution of a vector: in every L2B the one from the L2B that has the same kept bits."""
        kept = subsets(self.l2b.kept) if len(rows.sources) > 1 else [0]
        sources = [
            (self.form.down + (self.local.masks.equal(Level.L2B, self.l2b.kept, base) if len(kept) > 1 else ""),
             self._down(rows, base | l2b, other))
            for base in kept
        ]  # fmt: skip

        def fetch(position: int) -> Value:
            offset = position * self.form.words
            parts = [self.e.op(mnemonic, operands.l1bm(buffer + offset)) for mnemonic, buffer in sources]
            return reduce(lambda x, y: self.e.op("lor", x, y), parts)

        return fetch

    def _down(self, rows: Rows, source: int, other: int) -> int:
        """Rows of every kept L1B to all L1Bs that need them; returns the address in L1BM."""
        self.e.flush()
        if self.dealt:
            buffer, start = self.rings.l1bm.take(rows.words // L1BS, L2BM_STEP), rows.address(source, 0, other)
            for offset in range(0, rows.words // L1BS, DEALT):
                self.builder.op("l2bmd", operands.l2bm(start + L1BS * offset), to=operands.l1bm(buffer + offset))
            return buffer
        buffer = self.rings.l1bm.take(rows.words, L2BM_STEP)
        for base in rows.kept:
            mnemonic = "l2bmb" + member_set(base, self.l1b.reduced | self.l1b.copies)
            for offset in range(0, rows.words, L2BM_STEP):
                target = operands.l1bm(buffer + offset)
                self.builder.op(mnemonic, operands.l2bm(rows.address(source, base, other) + offset), to=target)
        return buffer


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of `words` long words in L2BM: one for each source L2B, kept L1B and collected L1B, in this order."""

    start: int
    words: int
    kept: list[int]
    others: list[int]
    sources: list[int]

    @property
    def size(self) -> int:
        """Long words of the rows of one source."""
        return len(self.kept) * len(self.others) * self.words

    def address(self, source: int, kept: int, other: int) -> int:
        """First long word of a row."""
        row = self.kept.index(kept) * len(self.others) + self.others.index(other)
        return self.start + self.sources.index(source) * self.size + row * self.words
