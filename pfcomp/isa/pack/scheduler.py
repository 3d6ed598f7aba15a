"""The list scheduler: fills steps in order from the ready nodes of a window (backend-kernels.md 1.3)."""

from __future__ import annotations

from pfcomp.isa.effects_hazards import Issue
from pfcomp.isa.model import Operand, Place

from .copies import CopyPlan, copy_needs, plan_copy, split_copy
from .graph import Graph
from .needs import ALL_UNITS, UNIT_BITS, Needs
from .nodes import NOT_PLACED, Lane, Node
from .queues import Queues
from .rows import Flight, Row
from .stats import COMPUTING
from .storage import Choice, Storage, operand_of
from .transfers import Transfers, place_final_waits

TRIES = 24
"""Ready nodes of a lane that are tried in a step, unless the step would stay empty."""

PATIENCE = 24
"""Steps that a ready LM write waits while others could read that LM."""

LM_CLASSES = (
    (int(Issue.LM0_WRITE), int(Issue.LM0_READ)),
    (int(Issue.LM1_WRITE), int(Issue.LM1_READ)),
)
LM_WRITES = int(Issue.LM0_WRITE | Issue.LM1_WRITE)

LONGEST_PAUSE = 400
"""Steps without progress after which registers must be the reason: no hazard is that long."""

CROWDED = 3
"""Registers that no step has read ports for: one of the values has to be forwarded."""
CHAINED = 2
"""Registers from which on an operation is worth placing early to save a read port."""

SCARCE_WORDS = 96
"""Free words of a register file below which only the oldest `NARROW` operations may start."""
NARROW = 24


class OutOfRegisters(Exception):
    """The window has more live values than registers."""


class Scheduler:
    """Schedules one graph. `rows` are the steps; `run` fills them."""

    def __init__(self, graph: Graph, window: int) -> None:
        self.rows: list[Row] = []
        self.storage = Storage(graph.physical, t_is_free=not graph.physical[Place.T])
        self.queues = Queues()
        self.transfers = Transfers()
        self._window = window
        self._operations = [n for n in graph.nodes if n.micro is not None]
        self._oldest = 0
        self._left = len([n for n in graph.nodes if n.micro is not None or n.move is not None])
        self._patient = True
        self._before = NOT_PLACED  # last non-empty row before the current one
        self.time = 0
        self._advance_window()
        for node in graph.nodes:
            if not node.missing and not node.follows:
                self._released(node)

    # the main loop

    def run(self) -> None:
        """Place everything. Raises `OutOfRegisters`."""
        progress = 0
        while self._left:
            if self._step():
                progress = self.time
            elif self.time - progress > LONGEST_PAUSE:
                raise OutOfRegisters
            if self.row(self.time).ops:
                self._before = self.time
            self.time += 1
        self._trim()
        place_final_waits(self.rows, list(self.transfers.flights.values()))

    def _step(self) -> bool:
        """Fill step `time`; False if nothing happened."""
        time, row = self.time, self.row(self.time)
        self.storage.begin_step(time)
        self.transfers.clock += 1
        moved = self.transfers.due(time) and self.transfers.paced(time)
        if moved:
            self._issue(row)
        self.queues.advance(time, self._limit())
        self._patient = not self._scarce()
        if not self._patient:
            self.storage.economise(time)
        self._fill(row, TRIES)
        if not row.ops:
            self._patient = False
            self.storage.urgent = True
            self._fill(row, 1 << 30)
            self.storage.urgent = False
        if not row.ops:
            any(self._copy(node, row) for node in self.queues.ready_at(time + 1) if node.registers >= CHAINED)
        if not row.ops:
            moved = self._issue_needed(row, moved)
        waited = self._wait(row)
        return moved or waited or bool(row.ops)

    def row(self, time: int) -> Row:
        """The row of a step; created with those before it."""
        while len(self.rows) <= time:
            self.rows.append(Row())
        return self.rows[time]

    def _trim(self) -> None:
        """Drop empty rows at the end; a move needs the row that it stands before only if something follows."""
        while self.rows and not (self.rows[-1].ops or self.rows[-1].wait or self.rows[-1].moves):
            self.rows.pop()

    # window

    def _advance_window(self) -> None:
        operations = self._operations
        while self._oldest < len(operations) and operations[self._oldest].time != NOT_PLACED:
            self._oldest += 1

    def _limit(self) -> int:
        """First order that is out of the window."""
        return self._oldest_order() + (min(NARROW, self._window) if self._scarce() else self._window)

    def _oldest_order(self) -> int:
        return self._operations[self._oldest].order if self._oldest < len(self._operations) else 1 << 60

    def _scarce(self) -> bool:
        return min(r.words for r in self.storage.registers) < SCARCE_WORDS

    # placing

    def _fill(self, row: Row, tries: int) -> None:
        self._continue_chains(row)
        while True:
            self.queues.grew = False
            limit = self._limit()
            for lane in self._lanes(row):
                self._place_one(lane, row, tries, limit)
            if not self.queues.grew:
                return

    def _continue_chains(self, row: Row) -> None:
        """Place what needs a value of the step before right now: later it would not find enough read ports."""
        if self._before != self.time - 1:
            return
        waiting = [
            (-node.registers, node.order, node.key, node)
            for producer, _ in self.row(self._before).ops
            for node, _ in producer.successors
            if node.registers >= CHAINED and node.time == NOT_PLACED and self.queues.is_ready(node)
        ]
        for _, _, _, node in sorted(waiting):
            if node.time == NOT_PLACED:
                self._try(node, row)

    def _lanes(self, row: Row) -> list[Lane]:
        """Lanes that can issue in this row, the one with the most urgent node first."""
        open_lanes = [
            (entries[0][0], k, lane)
            for k, (lane, entries) in enumerate(self.queues.lanes.items())
            if entries and not row.busy & UNIT_BITS[lane[0]] and not row.forbid & lane[1]
        ]
        return [lane for _, _, lane in sorted(open_lanes)]

    def _place_one(self, lane: Lane, row: Row, tries: int, limit: int) -> None:
        """Place one node of a lane, the most urgent that fits, or else a copy that lets one fit."""
        if row.busy & UNIT_BITS[lane[0]]:
            return
        misfits: list[Node] = []
        for _, _, node in self.queues.lanes[lane][:tries]:
            if node.order >= limit and node.value is not None and node.value.uses:
                continue
            if self._try(node, row):
                return
            if node.registers >= CHAINED and node.uses:
                misfits.append(node)
        if misfits and row.fits(copy_needs()):
            any(self._copy(node, row) for node in misfits)

    def _try(self, node: Node, row: Row) -> bool:
        """Place a ready node in the current row if it fits, with its follower or a copy it needs."""
        time = self.time
        if self._patient and node.classes & LM_WRITES and self._put_off(node, row):
            return False
        choice = self._fitting(node, row, time, self._before)
        if choice is None:
            return False
        claim = _claim(node)
        if claim & row.claimed:
            return False
        follower = node.follower
        if follower is not None and self._fitting(follower, self.row(time + 1), time + 1, time) is None:
            return False
        self.queues.discard(node)
        row.claimed |= claim
        self._place(node, choice, row, time)
        if follower is not None:
            self._place(follower, (), self.row(time + 1), time + 1)
        return True

    def _put_off(self, node: Node, row: Row) -> bool:
        """True for a recent LM write while others could read: writes are best done in bursts (H3)."""
        if node.lane is None or node.lane[0] not in COMPUTING or self.time - node.earliest >= PATIENCE:
            return False
        for memory, (write, read) in enumerate(LM_CLASSES):
            if node.classes & write and not node.classes & read:
                return self.queues.readers[memory] > 0 and not row.forbid & read
        return False

    def _fitting(self, node: Node, row: Row, time: int, before: int) -> Choice | None:
        """How the node reads its values at step `time`, None if it does not fit there."""
        needs = node.needs
        if needs is None or not row.fits(needs) or self._clashes_ahead(needs, time):
            return None
        choice = self.storage.choose(node, row, time, before) if node.uses else ()
        if choice is None or not self.storage.room(node.value, needs, row):
            return None
        if needs.second >= 0 and row.second is not None and self._second(node, choice) != row.second:
            return None
        return choice

    def _clashes_ahead(self, needs: Needs, time: int) -> bool:
        """True if a row that is already begun holds what this operation forbids there."""
        last = len(self.rows) - 1 - time
        if last < 1:
            return False
        return any(d <= last and self.rows[time + d].classes & classes for d, classes in needs.forbids)

    def _second(self, node: Node, choice: Choice) -> Operand | None:
        """The operand on the shared port of vfma, vmul and mwrite."""
        if node.micro is None or node.needs is None:
            return None
        position = node.needs.second
        for (at, value, virtual, _), bank in zip(node.uses, choice, strict=True):
            if at == position:
                return operand_of(value, virtual, bank)
        return node.micro.op.sources[position]

    def _place(self, node: Node, choice: Choice, row: Row, time: int) -> None:
        needs = node.needs
        if needs is None:
            raise TypeError("a node without needs cannot be placed")
        row.busy |= needs.busy
        row.classes |= needs.classes
        for port, key in needs.ports:
            row.ports[port] = key
        for distance, classes in needs.forbids:
            self.row(time + distance).forbid |= classes
        if needs.second >= 0:
            row.second = self._second(node, choice)
        row.ops.append((node, self.storage.read(node, choice, row)))
        self.storage.release(node, time, self.time)
        self.storage.write(node.value, row, time)
        node.time = time
        self._left -= 1
        self._advance_window()
        self._done(node)

    # copies of values that sit in the wrong register file

    def _copy(self, node: Node, row: Row) -> bool:
        """Make a copy so that the node's operands fit: forwarded to it in the next step, or into a register."""
        if _unit(node) & row.claimed or not self.storage.stuck(node, self.time + 1):
            return False
        plan = plan_copy(self.storage, node, self.time + 1)
        if plan is None:
            self._insert(split_copy(node))
            return True
        plan.expect_reads()
        choice = self._fitting(plan.copy, row, self.time, self._before)
        if choice is None:
            return False
        plan.rewire(self.time)
        if self._next(node) is None:
            plan.undo()
            return False
        plan.take_over()
        self._left += 1
        self.queues.discard(node)
        self._place(plan.copy, choice, row, self.time)
        after = self._next(node)  # again: placing the copy may have decided where other values are
        if after is None:
            node.earliest = self.time + 1
            self.queues.add(node, self.time)
        else:
            self._place(node, after, self.row(self.time + 1), self.time + 1)
        return True

    def _next(self, node: Node) -> Choice | None:
        """How the node fits into the next step, right after the current one."""
        return self._fitting(node, self.row(self.time + 1), self.time + 1, self.time)

    def _insert(self, plan: CopyPlan) -> None:
        """Let the copy be scheduled like any other operation before its node."""
        self.queues.discard(plan.node)
        plan.rewire(NOT_PLACED)
        plan.take_over()
        plan.expect_reads()
        plan.copy.successors.append((plan.node, 1))
        plan.node.missing = 1
        plan.copy.earliest = self.time
        self._left += 1
        self.queues.add(plan.copy, self.time)

    # dependences

    def _done(self, node: Node) -> None:
        """Tell the successors of a placed node or join."""
        for successor, distance in node.successors:
            successor.missing -= 1
            successor.earliest = max(successor.earliest, node.time + distance)
            if not successor.missing and not successor.follows:
                self._released(successor)

    def _released(self, node: Node) -> None:
        """All predecessors of `node` are placed."""
        if node.move is not None:
            self.transfers.add(node)
        elif node.micro is None:
            node.time = node.earliest
            self._done(node)
        else:
            self.queues.add(node, self.time)

    # moves

    def _issue(self, row: Row) -> None:
        node = self.transfers.issue(self.time, row)
        self._left -= 1
        self._done(node)

    def _issue_needed(self, row: Row, moved: bool) -> bool:
        """In an empty step, issue moves out of pace: one in any case, and all that the next operations wait for."""
        limit = min(self._limit(), self._oldest_order() + NARROW)
        waiting = [e[2].blockers for entries in self.queues.blocked.values() for e in entries if e[1] < limit]
        while self.transfers.due(self.time):
            if moved and not any(map(self.transfers.next_is_in, waiting)):
                break
            self._issue(row)
            moved = True
        return moved

    def _wait(self, row: Row) -> bool:
        """Put at most one wait into the current row: only when a unit is about to run dry, or when it is free."""
        if row.wait is not None:
            return False
        flight = self._demanded() or self.transfers.starved() or self.transfers.finished()
        if flight is None:
            return False
        for node in self.transfers.wait(flight, row):
            node.earliest = max(node.earliest, self.time + 1)
            if not node.blockers and not node.missing:
                self._unblocked(node)
        return True

    def _unblocked(self, node: Node) -> None:
        if node.move is not None:
            self.transfers.unblock(node)
        else:
            self.queues.unblock(node, self.time)

    def _demanded(self) -> Flight | None:
        """A flight that has to land now so that a lane does not run dry in the next step.

        Transfers of the other direction do not help: turning an L2BM around costs more steps than waiting (H13, H15).
        """
        for node in self._heads(self._limit()):
            if node.lane is not None and self.queues.waiting(node.lane) < len(node.blockers):
                flight = self.transfers.first_needed(node)
                if flight is not None:
                    return flight
        return None

    def _heads(self, limit: int) -> list[Node]:
        """The first node of the window in each lane that moves block, most urgent first."""
        firsts = (next((e for e in entries if e[1] < limit), None) for entries in self.queues.blocked.values())
        return [node for _, _, node in sorted(first for first in firsts if first is not None)]


def _claim(node: Node) -> int:
    """Bits of the units that the next step must give to readers of this result, which need it forwarded."""
    claimed = 0
    for successor, _ in node.successors:
        if successor.registers >= CROWDED and successor.missing == 1:
            claimed |= _unit(successor)
    return claimed


def _unit(node: Node) -> int:
    """Bit of the node's unit."""
    return 0 if node.needs is None else node.needs.busy & ALL_UNITS
