"""Hazards between steps: ports, registers, L1BM data (isa.md 17, H1 to H15 without H14)."""

from __future__ import annotations

from pfcomp.isa.effects import Effects, PeAccess, Span
from pfcomp.isa.effects_hazards import DATA_HAZARDS, PORT_HAZARDS, REGISTER_CYCLES, Hazard
from pfcomp.isa.model import CYCLES, Op, Place
from pfcomp.isa.printer import format_op
from pfcomp.isa.tables_places import PLACES

from .findings import Report
from .issue import Checked

_TIMED = frozenset({Place.GRF0, Place.GRF1, Place.T})
_REGISTER_STEPS = 2  # 4·3 - 3 cycles are enough for every pattern
_PRODUCERS = tuple(dict.fromkeys(int(h.producer) for h in PORT_HAZARDS))
_CONSUMERS = tuple((h, int(h.producer), int(h.consumer), h.gap + 1) for h in PORT_HAZARDS)
_DATA = tuple((h, int(h.producer), int(h.consumer), h.gap + 1) for h in DATA_HAZARDS)
_DATA_PRODUCERS = sum(int(h.producer) for h in DATA_HAZARDS)
_LONGEST_DATA = max(h.gap + 1 for h in DATA_HAZARDS)


class Hazards:
    """What recent steps did. Feed the steps in order; `time` counts steps, nops included."""

    def __init__(self) -> None:
        self._last: dict[int, int] = {}  # issue bit of a producer -> step
        self._written: list[tuple[int, PeAccess]] = []  # GRF and T writes of the last steps
        self._spans: list[tuple[int, int, Span]] = []  # step, issue bits, L1BM words written

    def check(self, time: int, ops: Checked, report: Report) -> None:
        """Compare one step with the steps before it, then remember it."""
        for op, effect in ops:
            if effect.issue:
                self._ports(time, op, effect.issue, report)
            if self._written:
                self._registers(time, op, effect, report)
            if self._spans and effect.span_reads:
                self._data(time, op, effect, report)
        self._remember(time, ops)

    def _remember(self, time: int, ops: Checked) -> None:
        if self._written and self._written[0][0] <= time - _REGISTER_STEPS:
            self._written = [entry for entry in self._written if entry[0] > time - _REGISTER_STEPS]
        if self._spans and self._spans[0][0] <= time - _LONGEST_DATA:
            self._spans = [entry for entry in self._spans if entry[0] > time - _LONGEST_DATA]
        for _, effect in ops:
            self._written += [(time, access) for access in effect.writes if access.place in _TIMED]
            issue = effect.issue
            if issue:
                for producer in _PRODUCERS:
                    if issue & producer:
                        self._last[producer] = time
            if issue & _DATA_PRODUCERS:
                self._spans += [(time, issue, span) for span in effect.span_writes if span.place is Place.L1BM]

    def _ports(self, time: int, op: Op, issue: int, report: Report) -> None:
        for hazard, producer, consumer, distance in _CONSUMERS:
            if issue & consumer:
                last = self._last.get(producer)
                if last is not None and time - last < distance:
                    report.add(hazard.rule, _late(hazard, op, time - last))

    def _registers(self, time: int, op: Op, effect: Effects, report: Report) -> None:
        for read in effect.reads:
            if read.place not in _TIMED:
                continue
            for step, write in self._written:
                if write.place is read.place and step < time and _too_early(write, read, time - step):
                    rule = "H8" if read.place is Place.T and not _plain_t(op) else "H1"
                    place = PLACES[read.place].title
                    report.add(rule, f"{format_op(op)}: {place}, written {_steps(time - step)} before, is not ready")
                    break

    def _data(self, time: int, op: Op, effect: Effects, report: Report) -> None:
        for hazard, producer, consumer, distance in _DATA:
            if not effect.issue & consumer:
                continue
            for step, issue, written in self._spans:
                near = step < time < step + distance
                if near and issue & producer and any(written.overlaps(span) for span in effect.span_reads):
                    report.add(hazard.rule, _late(hazard, op, time - step))
                    break


def _steps(distance: int) -> str:
    return "1 step" if distance == 1 else f"{distance} steps"


def _late(hazard: Hazard, op: Op, distance: int) -> str:
    return f"{format_op(op)}: {hazard.text}: {_steps(distance)} apart, needs {hazard.gap + 1}"


def _plain_t(op: Op) -> bool:
    return any(o.place is Place.T for o in op.sources)


def _apart(write: PeAccess, read: PeAccess, size: int) -> bool:
    """Quick test: True if the two certainly share no word."""
    low, high = min(write.cycles), max(write.cycles) + write.units
    start, stop = min(read.cycles), max(read.cycles) + read.units
    return high <= size and stop <= size and (high <= start or stop <= low)


def _too_early(write: PeAccess, read: PeAccess, distance: int) -> bool:
    """True if some word that `write` stores is read less than 7 cycles later, `distance` steps after (isa.md H1)."""
    size = PLACES[read.place].size
    if _apart(write, read, size):
        return False
    for i in range(CYCLES):
        if not write.enabled >> i & 1:
            continue
        last = i + REGISTER_CYCLES - CYCLES * distance  # reads in cycles before this one come too early
        start = write.cycles[i]
        for j in range(min(last, CYCLES)):
            # Both are runs of words that may wrap.
            if (read.cycles[j] - start) % size < write.units or (start - read.cycles[j]) % size < read.units:
                return True
    return False
