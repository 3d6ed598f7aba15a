"""The trace of a run: for each statement, one line for it and one for every place that it wrote in the chosen PEs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pfcomp.emulator.debug.areas import area_of, long_word
from pfcomp.emulator.debug.positions import Position
from pfcomp.emulator.debug.units import Unit
from pfcomp.emulator.debug.writes import micro_writes, set_writes, written_spans
from pfcomp.emulator.inspect import id_letters
from pfcomp.emulator.micro import Micro
from pfcomp.emulator.state import State, Words
from pfcomp.isa.effects import Span
from pfcomp.isa.model import DebugGet, DebugSet, Place, Statement


class Trace:
    """An observer that gives lines of text to `write`.

    A step's own line is its position. A place of a PE gets `n0c0b0m0p0 LM0[12] OLD -> NEW`, where the address is that
    of the long word, also if its value stays the same. A range of L1BM, L2BM, DRAM or PDM gets one line that says
    what was stored, and L1BM and L2BM one for every long word that changed.
    """

    def __init__(self, units: Sequence[Unit], write: Callable[[str], None]) -> None:
        self.units, self._write = tuple(units), write
        self._rows: dict[tuple[Unit, int], int] = {}
        self._spans: dict[tuple[str, Span], tuple[Unit, Words | None]] = {}
        self._silent = True

    def begin(self, state: State, position: Position, statement: Statement) -> None:
        self._rows.clear()
        self._spans.clear()
        self._silent = isinstance(statement, DebugGet)
        if self._silent:
            return
        self._write(position.describe())
        for unit in self.units:
            for span in written_spans(statement, unit):
                key = (unit.name(id_letters(span.place)), span)
                if key not in self._spans:
                    self._spans[key] = (unit, _contents(state, unit, span))
            if isinstance(statement, DebugSet):
                self._note(state, unit, [write.row for write in set_writes(statement, unit)])

    def micro(self, state: State, micro: Micro) -> None:
        for unit in self.units:
            self._note(state, unit, [write.row for write in micro_writes(state, unit, micro)])

    def _note(self, state: State, unit: Unit, rows: Sequence[int]) -> None:
        """Remember what rows hold before the first write of the statement to them."""
        for row in rows:
            self._rows.setdefault((unit, row), int(state.mem[unit.tile, row, unit.pe]))

    def end(self, state: State) -> None:
        for (unit, row), old in sorted(self._rows.items(), key=lambda item: (self.units.index(item[0][0]), item[0][1])):
            area = area_of(row)
            if area is not None:
                new = int(state.mem[unit.tile, row, unit.pe])
                place = area.label(row - area.first)
                self._write(f"  {unit.name()} {place} {area.value(old)} -> {area.value(new)}")
        for (where, span), (unit, before) in self._spans.items():
            self._span(state, where, span, unit, before)

    def _span(self, state: State, where: str, span: Span, unit: Unit, before: Words | None) -> None:
        name = f"  {where} {span.place.name}"
        after = _contents(state, unit, span)
        if before is None or after is None:
            self._write(f"{name}[{span.start}..{span.stop - 1}] stored")
            return
        changed = np.flatnonzero(before != after)
        self._write(f"{name}[{span.start}..{span.stop - 1}] stored, {len(changed)} changed")
        for offset in changed:
            old, new = long_word(int(before[offset])), long_word(int(after[offset]))
            self._write(f"{name}[{span.start + int(offset)}] {old} -> {new}")


def _contents(state: State, unit: Unit, span: Span) -> Words | None:
    """A copy of a range of the unit's L1BM or L2BM; None for DRAM and PDM, whose ranges may be huge."""
    if span.place == Place.L1BM:
        return state.l1bm[unit.tile, unit.b, span.start : span.stop].copy()
    if span.place == Place.L2BM:
        return state.l2bm[unit.tile, span.start : span.stop].copy()
    return None
