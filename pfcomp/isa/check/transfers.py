"""MV transfers in flight: who may touch what before which wait (isa.md 14.1, 17 H14, H16, H18)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from pfcomp.isa.effects import Effects, Span, move_spans
from pfcomp.isa.effects_hazards import DAR_GAP, MOVE_READ_GAP, Issue
from pfcomp.isa.effects_ranges import RangeMap
from pfcomp.isa.model import Move, Op, Place
from pfcomp.isa.printer import format_op, format_statement

from .findings import Report
from .issue import Checked

_DAR_WRITE, _L2BM_UP = int(Issue.DAR_WRITE), int(Issue.L2BM_UP)


@dataclass(slots=True, eq=False)
class Flight:
    """An MV that has been issued; `landed` once a wait for its tag was passed."""

    move: Move
    index: int
    line: int
    landed: bool = False


@dataclass(slots=True)
class _Cell:
    """Flights that touch a range of long words, with the instances they touch."""

    readers: list[tuple[int, Flight]] = field(default_factory=list)
    writers: list[tuple[int, Flight]] = field(default_factory=list)


def _copy(cell: _Cell) -> _Cell:
    return _Cell(list(cell.readers), list(cell.writers))


def _latest(entries: list[tuple[int, Flight]], members: int) -> Flight | None:
    """The last flight that has not landed and touches one of `members`; drops landed ones from the end."""
    while entries and entries[-1][1].landed:
        entries.pop()
    return next((f for m, f in reversed(entries) if m & members and not f.landed), None)


class Transfers:
    """All MVs of a program in flight."""

    def __init__(self) -> None:
        self._maps: dict[Place, RangeMap[_Cell]] = {}
        self._flights: list[Flight] = []
        self._by_tag: dict[int, list[Flight]] = {}
        self._written: list[tuple[int, Span]] = []  # L2BM words written by the last step
        self._dar_written: int | None = None

    # PE stream

    def check_step(self, time: int, ops: Checked, report: Report) -> None:
        """H16 for the operations of a step, whose own waits do not count yet."""
        for op, effect in ops:
            if effect.span_reads or effect.span_writes:
                self._check_op(op, effect, report)
            if effect.issue & _DAR_WRITE:
                self._dar_written = time
            if effect.issue & _L2BM_UP:
                self._written = [e for e in self._written if e[0] == time]
                self._written += [(time, span) for span in effect.span_writes]

    def _check_op(self, op: Op, effect: Effects, report: Report) -> None:
        for span in effect.span_reads:
            self._against(span, format_op(op), report, writing=False)
        for span in effect.span_writes:
            self._against(span, format_op(op), report, writing=True)

    def _against(self, span: Span, who: str, report: Report, *, writing: bool) -> None:
        ranges = self._maps.get(span.place)
        if ranges is None:
            return
        for cell in ranges.found(span.start, span.stop):
            writer = _latest(cell.writers, span.members)
            reader = _latest(cell.readers, span.members) if writing else None
            flight = writer or reader
            if flight is not None:
                verb = "writes" if writer else "reads"
                what = format_statement(flight.move)
                report.add("H16", f"{who}: {what} of statement {flight.index} still {verb} there")
                return

    def wait(self, tag: int, report: Report) -> None:
        """All MVs with `tag` have landed."""
        flights = self._by_tag.pop(tag, None)
        if flights is None:
            report.add("14.wait", f"no MV with tag i{tag:02x} is in flight")
            return
        for flight in flights:
            flight.landed = True

    # MV stream

    def issue(self, time: int, move: Move, report: Report) -> None:
        """Check an MV that is issued after step `time` - 1, then put it into flight."""
        reads, writes = move_spans(move)
        who = format_statement(move)
        for span in reads:
            self._against(span, who, report, writing=False)
        for span in writes:
            self._against(span, who, report, writing=True)
        self._after_steps(time, reads, who, report)
        flight = Flight(move, report.index, report.line)
        self._flights.append(flight)
        self._tag(flight, report)
        self._enter(flight, reads, writes)

    def _after_steps(self, time: int, reads: tuple[Span, ...], who: str, report: Report) -> None:
        for step, written in self._written:
            if time - step <= MOVE_READ_GAP and any(written.overlaps(span) for span in reads):
                report.add("H14", f"{who}: the step before writes what it reads")
                break
        dar = self._dar_written
        if dar is not None and time - dar <= DAR_GAP and any(span.place is Place.DAR for span in reads):
            report.add("H18", f"{who}: {time - dar - 1} steps after l2bmdarw, needs {DAR_GAP}")

    def _tag(self, flight: Flight, report: Report) -> None:
        tag = flight.move.tag
        if tag is None:
            return
        flights = self._by_tag.setdefault(tag, [])
        if flights:
            report.add("14.tag", f"tag i{tag:02x} is still in use by statement {flights[-1].index}")
        flights.append(flight)

    def _enter(self, flight: Flight, reads: tuple[Span, ...], writes: tuple[Span, ...]) -> None:
        for spans, enter in ((reads, _reading), (writes, _writing)):
            for span in spans:
                ranges = self._maps.setdefault(span.place, RangeMap(_copy))
                ranges.update(span.start, span.stop, partial(enter, (span.members, flight)))

    def end(self, report: Report) -> None:
        """Warn about MVs that nobody waits for."""
        for flight in self._flights:
            if not flight.landed:
                report.at(flight.index, flight.line)
                report.add("14.end", f"{format_statement(flight.move)} is not waited for")


def _reading(entry: tuple[int, Flight], cell: _Cell | None) -> _Cell:
    cell = cell or _Cell()
    _append(cell.readers, entry)
    return cell


def _writing(entry: tuple[int, Flight], cell: _Cell | None) -> _Cell:
    cell = cell or _Cell()
    _append(cell.writers, entry)
    return cell


def _append(entries: list[tuple[int, Flight]], entry: tuple[int, Flight]) -> None:
    while entries and entries[-1][1].landed:
        entries.pop()
    entries.append(entry)
