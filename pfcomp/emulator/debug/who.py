"""Who wrote a place last: a log of the last writers of chosen places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pfcomp.emulator.debug.areas import MASK_ENTRIES
from pfcomp.emulator.debug.positions import Position
from pfcomp.emulator.debug.units import Unit
from pfcomp.emulator.debug.writes import RowWrite, micro_writes, set_writes, written_spans
from pfcomp.emulator.inspect import id_letters
from pfcomp.emulator.micro import Micro
from pfcomp.emulator.rows import MASK_ROW, MATRIX_ROW, MATRIX_ROWS, MEMORIES, PES, T_ROW
from pfcomp.emulator.sparse import SparseMemory
from pfcomp.emulator.state import ALL_ONES, State
from pfcomp.errors import UsageError
from pfcomp.isa.debugtext import parse_location
from pfcomp.isa.effects import Span
from pfcomp.isa.effects_access import spans
from pfcomp.isa.model import CYCLES, DebugSet, Operand, Place, Statement
from pfcomp.isa.problems import Trouble
from pfcomp.isa.tables_places import GETTABLE

_HIGH_WORD, _LOW_WORD = 0xFFFF_FFFF_0000_0000, 0xFFFF_FFFF
HOST = "the host, before the program"


@dataclass(frozen=True, slots=True)
class Spot:
    """A place to watch: rows of PEs (four of them for a matrix register), or ranges of a memory of `units[0]`."""

    text: str
    units: tuple[Unit, ...]
    rows: dict[int, int]
    spans: tuple[Span, ...] = ()


def parse_spot(text: str) -> Spot:
    """The place that text such as `$lm12n0c0b0m0p0` names, with all of its ids. Raises UsageError PF0710."""
    try:
        operand, given = parse_location(text)
    except Trouble as trouble:
        raise UsageError("PF0710", trouble.what) from None
    ids = dict(given)
    missing = [letter for letter in id_letters(operand.place) if letter not in ids]
    if missing or operand.place not in GETTABLE:
        raise UsageError("PF0710", f"{text} is not one place", hint=f"add the ids {', '.join(missing)}")
    unit = Unit(**ids)
    address = operand.address.base if operand.address else 0
    if operand.place in MATRIX_ROW:
        units = tuple(Unit(unit.n, unit.c, unit.b, unit.m, p) for p in range(PES))
        return Spot(text, units, {MATRIX_ROW[operand.place] + address % MATRIX_ROWS: ALL_ONES})
    if id_letters(operand.place) == "ncbmp":
        return Spot(text, (unit,), _rows(operand, address))
    count = operand.width // 2
    return Spot(text, (unit,), {}, spans(operand.place, address, count, unit.member(operand.place)))


def _rows(operand: Operand, address: int) -> dict[int, int]:
    """Rows of a PE, and the bits of them, that an operand names."""
    if operand.place in MEMORIES:
        base, size = MEMORIES[operand.place]
        if operand.width == 1:
            return {base + address % size // 2: _LOW_WORD if address % 2 else _HIGH_WORD}
        return {base + (address // 2 + i) % (size // 2): ALL_ONES for i in range(operand.width // 2)}
    if operand.place == Place.T:
        if operand.address is None:
            return {T_ROW + i: ALL_ONES for i in range(2 * CYCLES)}
        return {T_ROW + address % CYCLES: ALL_ONES}
    if address >= MASK_ENTRIES:  # fixed patterns
        return {}
    return {MASK_ROW + CYCLES * address + cycle: ALL_ONES for cycle in range(CYCLES)}


class WriteLog:
    """An observer that remembers the last statement that wrote each spot.

    Off-chip memories tell it themselves what is stored, so that indirect addresses and the host count as well.
    """

    def __init__(self, spots: Sequence[Spot]) -> None:
        self.spots = tuple(spots)
        self._last: dict[int, Position | None] = {}
        self._now: Position | None = None

    def attach(self, place: Place, memory: SparseMemory) -> None:
        """Listen to what is stored in DRAM or PDM, besides whoever listens already."""
        others = memory.on_write

        def wrote(group: int, address: int, count: int) -> None:
            if others is not None:
                others(group, address, count)
            self._stored(spans(place, address, count, 1 << group))

        memory.on_write = wrote

    def begin(self, state: State, position: Position, statement: Statement) -> None:
        self._now = position
        for index, spot in enumerate(self.spots):
            if isinstance(statement, DebugSet):
                for unit in spot.units:
                    self._rows_written(index, set_writes(statement, unit))
            on_chip = tuple(s for s in written_spans(statement, spot.units[0]) if s.place in (Place.L1BM, Place.L2BM))
            if _meet(spot.spans, on_chip):
                self._last[index] = position

    def micro(self, state: State, micro: Micro) -> None:
        for index, spot in enumerate(self.spots):
            for unit in spot.units if spot.rows else ():
                self._rows_written(index, micro_writes(state, unit, micro))

    def end(self, state: State) -> None:
        self._now = None

    def _rows_written(self, index: int, writes: Iterable[RowWrite]) -> None:
        rows = self.spots[index].rows
        if any(rows.get(write.row, 0) & write.bits for write in writes):
            self._last[index] = self._now

    def _stored(self, stored: tuple[Span, ...]) -> None:
        for index, spot in enumerate(self.spots):
            if _meet(spot.spans, stored):
                self._last[index] = self._now

    def lines(self) -> list[str]:
        """For each spot who wrote it last."""
        result = []
        for index, spot in enumerate(self.spots):
            writer = self._last.get(index)
            name = writer.describe() if writer is not None else HOST
            result.append(
                f"{spot.text}: last written by {name}" if index in self._last else f"{spot.text}: not written"
            )
        return result


def _meet(wanted: tuple[Span, ...], stored: tuple[Span, ...]) -> bool:
    return any(mine.overlaps(other) for mine in wanted for other in stored)
