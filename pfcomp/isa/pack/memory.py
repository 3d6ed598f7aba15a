"""Who touched which words last: finds the dependences of each access in near linear time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

from pfcomp.isa.effects import PeAccess, Span, long_words
from pfcomp.isa.effects_access import FULL_MEMBERS
from pfcomp.isa.effects_hazards import DAR_GAP, MOVE_READ_GAP, REGISTER_CYCLES, Issue, least_distance
from pfcomp.isa.effects_ranges import RangeMap
from pfcomp.isa.model import CYCLES, Place
from pfcomp.isa.tables_places import PLACES

from .nodes import Node

EQUAL_PATTERNS = -(-REGISTER_CYCLES // CYCLES)
"""Steps from a register write to a read with the same addresses in the same cycles."""

TRUE_DISTANCE: dict[Place, int] = {
    Place.LM0: least_distance(Issue.LM0_WRITE, Issue.LM0_READ),
    Place.LM1: least_distance(Issue.LM1_WRITE, Issue.LM1_READ),
    Place.T: EQUAL_PATTERNS,
    Place.MASK: 1,
}
"""Steps from a write to a read of the same words, where the cycles do not matter."""

ANTI_DISTANCE: dict[Place, int] = {Place.MASK: 1}
"""Steps from a read to a later write of the same words. Masks act when results are stored, so none share a step."""

BAR_DISTANCE = least_distance(Issue.BAR0_WRITE, Issue.LM0_READ)


class Sink(Protocol):
    """Takes the dependences that are found: `after` must be `distance` steps before the current node."""

    def depend(self, after: Node, distance: int) -> None: ...

    def join(self, nodes: list[tuple[Node, int]]) -> Node:
        """A node that is done when all `nodes` are, with their distances."""
        ...


@lru_cache(maxsize=1 << 14)
def register_distance(write: PeAccess, read: PeAccess) -> int:
    """Steps from a GRF write to a read of words it wrote: H1 in whole steps, at least that of equal patterns."""
    size = PLACES[read.place].size
    steps = [
        -(-(REGISTER_CYCLES + i - j) // CYCLES)
        for i, a in enumerate(write.cycles)
        for j, b in enumerate(read.cycles)
        if (b - a) % size < write.units or (a - b) % size < read.units
    ]
    return max(EQUAL_PATTERNS, *steps)


def _true_distance(write: PeAccess, read: PeAccess) -> int:
    found = TRUE_DISTANCE.get(read.place)
    return register_distance(write, read) if found is None else found


@dataclass(slots=True)
class _Frontier:
    """Accesses since the last one at any address; shrunk to a join when someone depends on all of them."""

    nodes: list[tuple[Node, int]] = field(default_factory=list)

    def add(self, node: Node, distance: int) -> None:
        self.nodes.append((node, distance))

    def collect(self, current: Node, sink: Sink, distance: int | None = None) -> None:
        """Let `current` depend on all others, at their distances or at `distance`."""
        others = [(n, d if distance is None else distance) for n, d in self.nodes if n is not current]
        if len(others) > 1:
            joined = [(sink.join(others), 0)]
            self.nodes = joined + [entry for entry in self.nodes if entry[0] is current]
            others = joined
        for node, gap in others:
            sink.depend(node, gap)


class WordTracker:
    """Accesses to one of LM0, LM1, GRF0, GRF1, T or the mask registers, by long word (entry, cycle)."""

    def __init__(self) -> None:
        self._writers: dict[int, tuple[Node, PeAccess]] = {}
        self._readers: dict[int, list[Node]] = {}
        self._known_reads, self._known_writes = _Frontier(), _Frontier()
        self._wild_reads = _Frontier()  # reads at any address since the last such write
        self._wild_write: tuple[Node, int] | None = None

    def read(self, node: Node, access: PeAccess, sink: Sink) -> None:
        """`node` reads `access`."""
        if self._wild_write is not None:
            sink.depend(*self._wild_write)
        if access.anywhere:
            self._known_writes.collect(node, sink)
            self._wild_reads.add(node, 0)
            return
        for word in long_words(access):
            writer = self._writers.get(word)
            if writer is not None:
                sink.depend(writer[0], _true_distance(writer[1], access))
            self._readers.setdefault(word, []).append(node)
        self._known_reads.add(node, 0)

    def write(self, node: Node, access: PeAccess, sink: Sink) -> None:
        """`node` writes `access`, maybe only parts of it."""
        if access.anywhere:
            self.barrier(node, TRUE_DISTANCE[access.place], sink)
            return
        if self._wild_write is not None:
            sink.depend(self._wild_write[0], 1)
        self._wild_reads.collect(node, sink)
        for word in long_words(access):
            writer = self._writers.get(word)
            if writer is not None:
                sink.depend(writer[0], 1)
            for reader in self._readers.pop(word, ()):
                sink.depend(reader, ANTI_DISTANCE.get(access.place, 0))
            self._writers[word] = (node, access)
        self._known_writes.add(node, TRUE_DISTANCE.get(access.place, 1))

    def barrier(self, node: Node, distance: int, sink: Sink) -> None:
        """`node` may write anything; later accesses come `distance` steps after it."""
        for frontier in (self._known_writes, self._known_reads, self._wild_reads):
            frontier.collect(node, sink, 1)
            frontier.nodes = []
        if self._wild_write is not None:
            sink.depend(self._wild_write[0], 1)
        self._writers.clear()
        self._readers.clear()
        self._wild_write = (node, distance)


@dataclass(slots=True)
class _Cell:
    writers: list[tuple[int, Node]] = field(default_factory=list)
    readers: list[tuple[int, Node]] = field(default_factory=list)


def _copy(cell: _Cell) -> _Cell:
    return _Cell(list(cell.writers), list(cell.readers))


class SpanTracker:
    """Accesses to L1BM, L2BM, DRAM, PDM or DAR, by ranges of long words and instances."""

    def __init__(self, place: Place) -> None:
        self._cells: RangeMap[_Cell] = RangeMap(_copy)
        self._full = FULL_MEMBERS[place]

    def read(self, node: Node, span: Span, sink: Sink) -> None:
        """`node` reads `span`."""
        for cell in self._cells.found(span.start, span.stop):
            for members, writer in cell.writers:
                if members & span.members:
                    sink.depend(writer, _data_distance(writer, node))

        def enter(cell: _Cell | None) -> _Cell:
            cell = cell or _Cell()
            cell.readers.append((span.members, node))
            return cell

        self._cells.update(span.start, span.stop, enter)

    def write(self, node: Node, span: Span, sink: Sink) -> None:
        """`node` writes `span`."""
        for cell in self._cells.found(span.start, span.stop):
            for members, other in cell.writers + cell.readers:
                if members & span.members:
                    sink.depend(other, 1)
        if span.members == self._full:
            self._cells.put(span.start, span.stop, _Cell([(span.members, node)]))
            return

        def enter(cell: _Cell | None) -> _Cell:
            keep = ~span.members
            old = cell or _Cell()
            writers = [(m, n) for m, n in old.writers if m & keep]
            return _Cell([*writers, (span.members, node)], [(m, n) for m, n in old.readers if m & keep])

        self._cells.update(span.start, span.stop, enter)


def _data_distance(writer: Node, reader: Node) -> int:
    if reader.move is not None:
        if writer.classes & Issue.DAR_WRITE:
            return DAR_GAP + 1
        return MOVE_READ_GAP + 1
    return _class_distance(writer.classes, reader.classes)


@lru_cache(maxsize=256)
def _class_distance(writer: int, reader: int) -> int:
    return least_distance(Issue(writer), Issue(reader))
