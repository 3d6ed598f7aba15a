"""The dependence graph of a micro-program: true, anti and output dependences over exact ranges."""

from __future__ import annotations

from pfcomp.isa.effects import Effects, PeAccess, find_effects, move_spans
from pfcomp.isa.effects_access import FULL_MEMBERS
from pfcomp.isa.effects_hazards import Issue
from pfcomp.isa.model import Place
from pfcomp.isa.roles import form_of
from pfcomp.isa.tables_places import MATRICES, PE_MEMORIES, PLACES

from .memory import BAR_DISTANCE, SpanTracker, WordTracker
from .micro import MicroMove, MicroOp, MicroProgram, Virtual, bad_operation
from .needs import needs_of
from .nodes import Node, Value
from .values import result_path

_TRANSFERS = int(Issue.L1BM_UP | Issue.L1BM_DOWN | Issue.L2BM_UP | Issue.L2BM_DOWN | Issue.L2BM_SIDE)
_BARRED = {Place.BAR0: Place.LM0, Place.BAR1: Place.LM1}
VECTOR_LATENCY = 2  # producer to reader through a register, equal strided patterns (isa.md H1)
UNIFORM_LATENCY = 3  # the same without a stride


class Graph:
    """Builds the nodes of a program in emission order; `nodes` has joins as well, before their users."""

    def __init__(self, micro: MicroProgram) -> None:
        self.nodes: list[Node] = []
        self.physical: dict[Place, set[int]] = {Place.GRF0: set(), Place.GRF1: set(), Place.T: set()}
        self._values: dict[int, tuple[Value, Node]] = {}
        words = (*PE_MEMORIES, Place.T, Place.MASK)
        self._words = {place: WordTracker() for place in PLACES if place in words}
        self._spans = {place: SpanTracker(place) for place in PLACES if place in FULL_MEMBERS}
        self._matrix: dict[Place, tuple[list[Node], list[Node]]] = {m: ([], []) for m in PLACES if m in MATRICES}
        self._last_up: Node | None = None
        self._before: dict[Node, int] = {}
        self._current = Node(-1)
        for order, item in enumerate(micro.ops):
            self._begin(order)
            if isinstance(item, MicroOp):
                self._operation(item)
            else:
                self._move(item)
            self._finish()

    # sink of the trackers

    def depend(self, after: Node, distance: int) -> None:
        """The current node comes `distance` steps after `after`, or after a wait for it if it is a move."""
        if after is self._current:
            return
        if after.move is not None:
            self._current.blockers[after] = None
        elif self._before.get(after, -1) < distance:
            self._before[after] = distance

    def join(self, nodes: list[tuple[Node, int]]) -> Node:
        """A node without work after `nodes`."""
        join = Node(max(node.order for node, _ in nodes))
        for node, distance in nodes:
            node.successors.append((join, distance))
        join.missing = len(nodes)
        self.nodes.append(join)
        return join

    # nodes

    def _begin(self, order: int) -> None:
        self._current, self._before = Node(order), {}

    def _finish(self) -> None:
        node = self._current
        if node.follows and self._last_up is not None:
            self._glue(self._last_up)
        else:
            for before, distance in self._before.items():
                before.successors.append((node, distance))
            node.missing = len(self._before)
        for move in node.blockers:
            move.blocked.append(node)
        self.nodes.append(node)

    def _glue(self, leader: Node) -> None:
        """Make the current node the follower of `leader`: what it comes after, the leader must come after."""
        node = self._current
        for before, distance in self._before.items():
            if before is leader:
                continue
            if before.order >= leader.order or node.blockers:
                raise bad_operation("a turnaround read depends on what was emitted after its transfer up")
            before.successors.append((leader, distance - 1))
            leader.missing += 1
        leader.follower = node

    def _move(self, micro: MicroMove) -> None:
        node = self._current
        node.move = micro
        reads, writes = move_spans(micro.move)
        for span in reads:
            self._spans[span.place].read(node, span, self)
        for span in writes:
            self._spans[span.place].write(node, span, self)

    def _operation(self, micro: MicroOp) -> None:
        node, op = self._current, micro.op
        effect = find_effects(op)
        node.micro, node.classes = micro, effect.issue
        node.needs = needs_of(op, effect)
        node.lane = (op.unit, effect.issue & _TRANSFERS)
        self._uses(micro, effect)
        self._turnaround(effect)
        for access in effect.reads:
            self._note(access)
            self._words[access.place].read(node, access, self)
        for mask in effect.masks:
            self._words[Place.MASK].read(node, _mask_entry(mask.entry), self)
        for place in effect.matrix_reads:
            self._matrix_read(place)
        for span in effect.span_reads:
            self._spans[span.place].read(node, span, self)
        self._writes(effect)
        path = result_path(op)
        if micro.result is not None and path is not None:
            self._result(micro.result, path)

    def _note(self, access: PeAccess) -> None:
        taken = self.physical.get(access.place)
        if taken is not None:
            size = PLACES[access.place].size
            taken.update(w % size // 2 for a in access.cycles for w in range(a, a + access.units))

    def _writes(self, effect: Effects) -> None:
        node = self._current
        for access in effect.writes:
            local = _BARRED.get(access.place)
            if local is not None:
                self._words[local].barrier(node, BAR_DISTANCE, self)
            else:
                self._note(access)
                self._words[access.place].write(node, access, self)
        for place in effect.matrix_writes:
            self._matrix_write(place)
        for span in effect.span_writes:
            self._spans[span.place].write(node, span, self)

    def _result(self, virtual: Virtual, path: Place) -> None:
        words = virtual.width if virtual.uniform else 4 * virtual.width
        later = UNIFORM_LATENCY if virtual.uniform else VECTOR_LATENCY
        value = self._current.value = Value(virtual, path, words, later)
        self._values[virtual.index] = (value, self._current)

    def _uses(self, micro: MicroOp, effect: Effects) -> None:
        if not micro.uses:
            return
        node = self._current
        grf = [any(a.place is place for a in effect.reads) for place in (Place.GRF0, Place.GRF1)]
        for position, virtual in micro.uses:
            value, producer = self._values[virtual.index]
            value.uses += 1
            for bank in (0, 1):
                value.avoid[bank] += grf[bank]
            forwards = value.path is not Place.MREADF or Place.MREADF in form_of(micro.op).sources[position].places
            node.uses.append((position, value, virtual, forwards))
            self.depend(producer, 1)

    # matrix and turnaround registers

    def _matrix_read(self, place: Place) -> None:
        writers, readers = self._matrix[place]
        for writer in writers:
            self.depend(writer, 1)
        readers.append(self._current)

    def _matrix_write(self, place: Place) -> None:
        writers, readers = self._matrix[place]
        for node in writers + readers:
            self.depend(node, 1)
        self._matrix[place] = ([self._current], [])

    def _turnaround(self, effect: Effects) -> None:
        node, up = self._current, self._last_up
        if effect.turn_read is not None:
            if up is None or up.follower is not None or _turn(up) != effect.turn_read:
                raise bad_operation("a turnaround read needs a transfer up of its family and width just for itself")
            node.follows = True
        if effect.turn_write is not None:
            self._last_up = node


def _turn(up: Node) -> tuple[str, int] | None:
    return None if up.micro is None else find_effects(up.micro.op).turn_write


def _mask_entry(entry: int) -> PeAccess:
    return PeAccess(Place.MASK, (entry, entry, entry, entry), 1, (None, 1))
