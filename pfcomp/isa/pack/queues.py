"""Nodes on their way to a step: out of the window, too early, ready."""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heapify, heappop, heappush

from pfcomp.isa.effects_hazards import Issue

from .nodes import Lane, Node

LM_READS = (int(Issue.LM0_READ), int(Issue.LM1_READ))
Entry = tuple[int, int, Node]
"""Key, order of arrival, node: unique before the node is reached."""


class Queues:
    """Nodes whose predecessors are placed.

    A node is *parked* while its order is not below `limit`, *blocked* until its moves are waited for, *future* until
    its earliest step, then *ready* in its lane, sorted by key.
    """

    def __init__(self) -> None:
        self.lanes: dict[Lane, list[Entry]] = {}
        self.blocked: dict[Lane, list[tuple[int, int, Node]]] = {}
        """Nodes of the window that moves block, by lane: key, order, node."""
        self.limit = 0
        self._parked: list[tuple[int, int, Node]] = []
        self._future: list[tuple[int, int, Node]] = []
        self._waiting: dict[Lane, int] = {}
        self._arrivals = 0
        self.grew = False
        self.readers = [0, 0]
        """Ready nodes that read LM0 and LM1."""

    def add(self, node: Node, now: int) -> None:
        """A node has no missing predecessors any more."""
        self._arrivals += 1
        if node.order >= self.limit:
            heappush(self._parked, (node.order, self._arrivals, node))
        else:
            self._enter(node, now)

    def unblock(self, node: Node, now: int) -> None:
        """All moves that the node needs are waited for."""
        if node.lane is None:
            return
        entries, entry = self.blocked.get(node.lane, []), (node.key, node.order, node)
        at = bisect_left(entries, entry[:2], key=_without_node)
        if at < len(entries) and entries[at][2] is node:  # otherwise it is still parked
            del entries[at]
            self._enter(node, now)

    def _enter(self, node: Node, now: int) -> None:
        self._arrivals += 1
        if node.lane is not None and node.blockers:
            insort(self.blocked.setdefault(node.lane, []), (node.key, node.order, node))
            return
        if node.lane is not None:
            self._waiting[node.lane] = self._waiting.get(node.lane, 0) + 1
        if node.earliest > now:
            heappush(self._future, (node.earliest, self._arrivals, node))
        else:
            self._ready(node)

    def _ready(self, node: Node) -> None:
        if node.lane is not None:
            insort(self.lanes.setdefault(node.lane, []), (node.key, self._arrivals, node))
            self._arrivals += 1
            self.grew = True
            self._count(node, 1)

    def advance(self, now: int, limit: int) -> None:
        """Let in what the window and the step `now` allow."""
        self.limit = limit
        while self._parked and self._parked[0][0] < limit:
            self._enter(heappop(self._parked)[2], now)
        while self._future and self._future[0][0] <= now:
            self._ready(heappop(self._future)[2])

    def remove(self, lane: Lane, at: int) -> None:
        """Take the entry `at` of a lane out."""
        self._count(self.lanes[lane].pop(at)[2], -1)
        self._waiting[lane] -= 1

    def _count(self, node: Node, change: int) -> None:
        for memory, bit in enumerate(LM_READS):
            if node.classes & bit:
                self.readers[memory] += change

    def discard(self, node: Node) -> None:
        """Take a ready or future node out."""
        if node.lane is None:
            return
        entries = self.lanes.get(node.lane, [])
        at = next((k for k, entry in enumerate(entries) if entry[2] is node), None)
        if at is None:
            self._future = [entry for entry in self._future if entry[2] is not node]
            heapify(self._future)
            self._waiting[node.lane] -= 1
        else:
            self.remove(node.lane, at)

    def ready_at(self, time: int) -> list[Node]:
        """Future nodes of one step, in order of emission."""
        return sorted((node for step, _, node in self._future if step == time), key=lambda node: node.order)

    def is_ready(self, node: Node) -> bool:
        """True if the node is in its lane."""
        entries = self.lanes.get(node.lane, []) if node.lane is not None else []
        return any(entry[2] is node for entry in entries)

    def waiting(self, lane: Lane) -> int:
        """Nodes of a lane that are ready or will be as soon as their step comes."""
        return self._waiting.get(lane, 0)


def _without_node(entry: tuple[int, int, Node]) -> tuple[int, int]:
    return entry[0], entry[1]
