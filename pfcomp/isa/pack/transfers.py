"""MV transfers during scheduling: when to issue them, under which tags, where to wait."""

from __future__ import annotations

from bisect import insort
from collections.abc import Container
from heapq import heapify, heappop, heappush

from pfcomp.isa.model import Place
from pfcomp.isa.tables_moves import FIRST_TAG, LAST_TAG, STEPS_PER_MOVE, base_place

from .nodes import NOT_PLACED, Node
from .rows import Flight, Row

# isa.md 21.3: long words per step (4 cycles) of the narrowest port, and a placeholder for the start of a transfer.
# Only the order of waits depends on these figures, never correctness.
_WORDS_PER_STEP = {Place.DRAM: 32, Place.PDM: 64}
_START_STEPS = 40


class Transfers:
    """Moves that are ready, in flight or blocked by other moves. `clock` estimates time with stalls, in steps."""

    def __init__(self) -> None:
        self.ready: list[tuple[int, int, Node]] = []  # earliest step, order
        self.flights: dict[Node, Flight] = {}  # not waited for, in order of issue
        self.blocked: list[tuple[int, Node]] = []  # by order: wait for other moves
        self.clock = 0
        self._tags = list(range(FIRST_TAG, LAST_TAG + 1))
        heapify(self._tags)
        self._busy_until = 0
        self._last_issue = -STEPS_PER_MOVE

    def add(self, node: Node) -> None:
        """A move whose predecessors are placed."""
        if node.blockers:
            insort(self.blocked, (node.order, node))
        else:
            heappush(self.ready, (node.earliest, node.order, node))

    def unblock(self, node: Node) -> None:
        """All moves that `node`, a move, needs are waited for."""
        self.blocked.remove((node.order, node))
        heappush(self.ready, (node.earliest, node.order, node))

    def due(self, time: int) -> bool:
        """True if a move can be issued before step `time`."""
        return bool(self.ready) and self.ready[0][0] <= time and bool(self._tags)

    def next_is_in(self, moves: Container[Node]) -> bool:
        """True if the first ready move is one of `moves`."""
        return self.ready[0][2] in moves

    def paced(self, time: int) -> bool:
        """True if the last move was issued long enough ago (isa.md 14.1: one in four steps)."""
        return time - self._last_issue >= STEPS_PER_MOVE

    def issue(self, time: int, row: Row) -> Node:
        """Issue the first ready move before step `time`; `due` must be true."""
        node = heappop(self.ready)[2]
        micro = node.move
        if micro is None:
            raise TypeError("a node among the moves is none")
        rates = (_WORDS_PER_STEP.get(base_place(o.place), 0) for o in (micro.move.source, micro.move.destination))
        rate = min((r for r in rates if r), default=max(_WORDS_PER_STEP.values()))
        self._busy_until = max(self._busy_until, self.clock) + micro.move.size // rate
        flight = Flight(node, micro, heappop(self._tags), time, self._busy_until + _START_STEPS)
        row.moves.append(flight)
        self.flights[node] = flight
        self._last_issue = node.time = time
        return node

    def wait(self, flight: Flight, row: Row) -> list[Node]:
        """Put the wait for a flight into `row`; returns the nodes that it blocked."""
        row.wait = flight
        flight.waited = True
        del self.flights[flight.node]
        heappush(self._tags, flight.tag)
        self.clock = max(self.clock, flight.finish)
        for node in flight.node.blocked:
            del node.blockers[flight.node]
        return flight.node.blocked

    def first_needed(self, node: Node) -> Flight | None:
        """The first flight that has to be waited for so that `node` comes nearer; None if a move has to be issued."""
        for move in node.blockers:
            flight = self.flights.get(move)
            if flight is not None:
                return flight
            if move.time == NOT_PLACED and move.blockers and not move.missing:
                found = self.first_needed(move)
                if found is not None:
                    return found
        return None

    def starved(self) -> Flight | None:
        """The oldest flight, if a move is ready but no tag is free."""
        if self.ready and not self._tags:
            return next(iter(self.flights.values()))
        return None

    def finished(self) -> Flight | None:
        """A flight that is probably done and keeps another move from being issued."""
        for _, node in self.blocked:
            flights = [self.flights[move] for move in node.blockers if move in self.flights]
            if len(flights) == len(node.blockers) and all(f.finish <= self.clock for f in flights):
                return flights[0]
        return None


def place_final_waits(rows: list[Row], flights: list[Flight]) -> None:
    """Wait for all `flights` in the last rows that have no wait yet, as late as possible, after their moves.

    Appends as few rows as it takes.
    """
    order = sorted(flights, key=lambda f: (f.time, f.tag), reverse=True)
    extra = 0
    while (slots := _slots(rows, extra, order)) is None:
        extra += 1
    rows.extend(Row() for _ in range(extra))
    for flight, slot in zip(order, slots, strict=True):
        rows[slot].wait = flight


def _slots(rows: list[Row], extra: int, flights: list[Flight]) -> list[int] | None:
    """A row for each of `flights` (latest first), with `extra` rows appended; None if these are too few."""
    slots: list[int] = []
    at = len(rows) + extra - 1
    for flight in flights:
        while 0 <= at < len(rows) and rows[at].wait is not None:
            at -= 1
        if at < flight.time:
            return None
        slots.append(at)
        at -= 1
    return slots
