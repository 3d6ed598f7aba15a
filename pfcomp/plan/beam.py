"""Layout planner: dynamic programming over the graph with a beam (design.md 6.3).

Nodes are taken in order. A state knows in which layouts every living tensor exists, in which layouts the tensors in
DRAM have their images, and what it cost so far. For every node each state tries the ways in which the node can be
computed; the cheapest states go on. Tensors in DRAM have no layout until the first node that reads them wants one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

from pfcomp.ir.model import LM_WORDS, MNNode
from pfcomp.kernels.api import Binding, Job
from pfcomp.layout import Layout
from pfcomp.plan import slices, ways
from pfcomp.plan.anneal import Pins, Trace
from pfcomp.plan.choices import Compute, Load, Rearrange, Relay, Rename, Store
from pfcomp.plan.costs import fits, load_steps, store_steps
from pfcomp.plan.lower.graph import REARRANGEMENTS, SWITCH, CoreGraph
from pfcomp.plan.lower.views import original, renamed
from pfcomp.plan.moving import MovingCosts
from pfcomp.plan.no_room import NoRoomError
from pfcomp.plan.room import way_fits
from pfcomp.plan.sought import Readers
from pfcomp.plan.states import Layouts, State, Waiting, name_of, way_of
from pfcomp.plan.switches import demanded, layout_of_switch

MANY = 200
"""Nodes of a graph beyond which half as many states survive."""


class Planner:
    """Chooses layouts for a graph.

    `width` is the number of states that survive each node, `room` the long words of one memory that may be filled.
    """

    def __init__(
        self, graph: CoreGraph, forced: Mapping[str, Layout], float_dtype: str, width: int, room: int = LM_WORDS
    ) -> None:
        self.room = room
        self.graph, self.forced, self.float_dtype = graph, forced, float_dtype
        self.width = width if len(graph.nodes) <= MANY else -(-width // 2)
        self.moving = MovingCosts(graph, float_dtype, room)
        self.immediates = ways.immediates(graph)
        self.last_use = {n: k for k, node in enumerate(graph.nodes) for n in node.inputs}
        self.early = _stored_early(graph)
        self.switched = demanded(graph)
        self.readers = Readers.of(graph, float_dtype)
        self.met: list[dict[str, None]] = [{} for _ in graph.nodes]

    def search(self, known: Trace, pins: Pins, width: int) -> tuple[State, Trace]:
        """The cheapest state after all nodes and stores, and the states before each node and behind the last.

        `known` are those before the first nodes; `width` states survive each of the others, those that follow `pins`.
        """
        trace = known or [[self._first()]]
        for position, node in enumerate(self.graph.nodes[len(trace) - 1 :], len(trace) - 1):
            early = [name for name in node.outputs if name in self.early]
            following = [new for state in trace[-1] for new in self._after(state, node)]
            if not following:
                raise _nowhere(node)
            kept = _following(pins.get(position), node, following)
            best = self._best((self._stored(state, early) for state in kept), position, width)
            self.met[position].update((way_of(state, node), None) for state in best)
            trace = [*trace, best]
        final = [self._stored(state, [n for n in self.graph.outputs if n not in self.early]) for state in trace[-1]]
        return min(final, key=lambda state: state.steps), trace

    def _first(self) -> State:
        given = (*self.graph.inputs, *self.graph.states, *self.graph.constants)
        return State(0, {}, {name: Waiting(name) for name in given if name not in self.immediates}, {})

    def _best(self, states: Iterable[State], position: int, width: int) -> list[State]:
        """The cheapest states behind a node, no two with the same future."""
        best: dict[object, State] = {}
        for state in sorted(states, key=lambda state: state.steps + state.owed):
            kept = self._forget(state, position)
            best.setdefault(kept.key(), kept)
            if len(best) == width:
                break
        return list(best.values())

    def _forget(self, state: State, position: int) -> State:
        """Drop tensors that no later node reads and that are no outputs."""

        later = {name for name in (*state.there, *state.waiting) if self._needed(name, position)}
        behind = {w.root for name, w in state.waiting.items() if name in later}

        def needed(name: str) -> bool:
            return name in later or name in behind

        there = {name: layouts for name, layouts in state.there.items() if needed(name)}
        waiting = {name: w for name, w in state.waiting.items() if needed(name)}
        return replace(state, there=there, waiting=waiting)

    def _needed(self, name: str, position: int) -> bool:
        return self.last_use.get(name, -1) > position or (name in self.graph.outputs and name not in self.early)

    def _after(self, state: State, node: MNNode) -> Iterator[State]:
        if node.op == SWITCH:
            yield from self._switch(state, node)
            return
        if node.op in REARRANGEMENTS:
            yield from self._rearranged(state, node)
            return
        operands = tuple(name for name in ways.operands(node) if name not in self.immediates)
        offered = {name: self._offered(state, name) for name in operands}
        images = [self._image(state, name) for name in node.outputs if name in self.graph.outputs]
        wanted = [*filter(None, images), *self._demanded(node)]
        for binding in ways.bindings(self.graph, node, offered, self.float_dtype, wanted):
            if not self._has_room(node, binding, operands):
                continue
            new: State | None = state
            for name, layout in self._in_turn(node, operands, binding):
                new = new and self.fetch(new, name, layout)
            if new is not None:
                new = new.did(Compute(node, binding, operands), binding.steps)
                for name, layout in zip(node.outputs, binding.outputs, strict=True):
                    new = new.with_copy(name, layout)
                yield replace(new, owed=new.owed + self._to_images(node, images, binding))

    def _in_turn(self, node: MNNode, operands: Sequence[str], binding: Binding) -> list[tuple[str, Layout]]:
        """Operands in the order in which they are brought: what goes into every vector of a node comes first."""
        pairs = list(zip(operands, binding.inputs, strict=True))
        if not ways.is_pointwise(node):
            return pairs
        whole = prod(self.graph.specs[node.outputs[0]].shape)
        return sorted(pairs, key=lambda pair: prod(self.graph.specs[pair[0]].shape) == whole)

    def _to_images(self, node: MNNode, images: Sequence[Layout | None], binding: Binding) -> int:
        """Steps from the results to the layouts in which they will be stored, as far as these are known."""
        results = zip(node.outputs, binding.outputs, strict=True)
        known = {name: layout for name, layout in results if name in self.graph.outputs}
        moves = zip(known.items(), images, strict=True)
        return sum(
            self.moving.relays.steps(self.graph.specs[n], x, image) for (n, x), image in moves if image is not None
        )

    def _switch(self, state: State, node: MNNode) -> Iterator[State]:
        """Bring a tensor to the demanded layout; the result is that copy, and no other one."""
        layout = layout_of_switch(node)
        ready = self.fetch(state, node.inputs[0], layout)
        if ready is not None:
            yield ready.did(Rename(node, layout, layout), 0).with_copy(node.outputs[0], layout)

    def _demanded(self, node: MNNode) -> list[Layout]:
        """Layouts to which results will be brought."""
        return [self.switched[name] for name in node.outputs if name in self.switched]

    def _offered(self, state: State, name: str) -> Layouts:
        """Layouts in which a tensor exists, or in which it can be loaded if its image has one already."""
        seen = state.waiting.get(name)
        if name in state.there or seen is None:
            return state.there.get(name, ())
        layout = self._wanted(state, seen.root)
        for _, job in seen.nodes:
            view = None if layout is None else renamed(job, layout)
            layout = None if view is None else view.layout
        return () if layout is None else (layout,)

    def _fits(self, name: str, layout: Layout) -> bool:
        return fits(self.graph.specs[name], layout, self.room)

    def _has_room(self, node: MNNode, binding: Binding, operands: Sequence[str]) -> bool:
        """True if results can be stored, and what the node needs fits into both memories."""
        return all(map(self._fits, node.outputs, binding.outputs)) and way_fits(binding, operands, self.room)

    def _rearranged(self, state: State, node: MNNode) -> Iterator[State]:
        """By renaming where possible; otherwise the elements move to any of the usual layouts."""
        job = self.graph.job(node, self.float_dtype)
        name, result = node.inputs[0], node.outputs[0]
        if name in state.waiting and name not in state.there and _is_renaming(job):
            seen = state.waiting[name]
            later = Waiting(seen.root, (*seen.nodes, (node, job)))
            yield replace(state, waiting={**state.waiting, result: later})
            return
        views = [(layout, renamed(job, layout)) for layout in state.there.get(name, ())]
        found = [(layout, view) for layout, view in views if view is not None]
        if found:
            for layout, view in found:
                state = state.did(Rename(node, layout, view.layout, view.addr), 0).with_copy(result, view.layout)
            yield state
            return
        yield from self._moved(state, node, job)

    def _moved(self, state: State, node: MNNode, job: Job) -> Iterator[State]:
        ready: State | None = state
        for name in node.inputs:
            if ready is not None and not ready.there.get(name):
                ready = self._anyhow(ready, name)
        if ready is None:
            return
        fitting = ways.usual_forms(job.outputs[0], self.room)
        sought = (*self._demanded(node), *self.readers.sought(node.outputs[0]))
        demanded = [layout for layout in sought if self._fits(node.outputs[0], layout)]
        for target in dict.fromkeys((*demanded, *fitting)):
            found = [self._cheapest(job, k, ready.there[name], target) for k, name in enumerate(node.inputs)]
            sources = tuple(layout for _, layout in found)
            if self.moving.rearrangements.fits(job, sources, target):
                new = ready.did(Rearrange(node, sources, target), sum(steps for steps, _ in found))
                yield new.with_copy(node.outputs[0], target)

    def _cheapest(self, job: Job, operand: int, present: Layouts, target: Layout) -> tuple[int, Layout]:
        """Steps and layout of the copy from which an operand's elements are brought into place at the least cost."""
        costs = [(self.moving.rearrangements.operand_steps(job, operand, layout, target), layout) for layout in present]
        return min(costs, key=lambda cost: cost[0])

    def fetch(self, state: State, name: str, layout: Layout) -> State | None:
        """The state in which a tensor exists in `layout`; None if it cannot."""
        if not self._fits(name, layout):
            return None
        wanted = name_of(layout)
        present = state.there.get(name, ())
        if wanted in map(name_of, present):
            return state
        if name in state.waiting and not present:
            loaded = self._loaded(state, name, layout)
            if loaded is not None:
                return loaded
            state = self._anyhow(state, name)  # type: ignore[assignment]
            return None if state is None else self.fetch(state, name, layout)
        spec = self.graph.specs[name]
        costs = [(self.moving.relays.steps(spec, other, layout), other) for other in present]
        if not costs:
            return None
        steps, source = min(costs, key=lambda c: c[0])
        return state.did(Relay(name, source, layout), steps).with_copy(name, layout)

    def _loaded(self, state: State, name: str, layout: Layout) -> State | None:
        """Load the root of a waiting tensor so that the tensor itself gets `layout`; None if that is impossible."""
        seen = state.waiting[name]
        if seen.root not in state.waiting:
            return None
        needed: list[Layout] = [layout]
        for _, job in reversed(seen.nodes):
            before = original(job, needed[-1])
            if before is None:
                return None
            needed.append(before)
        return self._load_root(state, seen, needed[::-1])

    def _load_root(self, state: State, seen: Waiting, layouts: list[Layout]) -> State | None:
        root, spec = seen.root, self.graph.specs[seen.root]
        wanted = self._wanted(state, root)
        if wanted is not None and name_of(wanted) != name_of(layouts[0]):
            return None
        if not self._fits(root, layouts[0]) or not slices.suits(spec, self.graph.pieces.get(root), layouts[0]):
            return None
        state = state.did(Load(root, layouts[0]), load_steps(spec, layouts[0])).with_copy(root, layouts[0])
        state = replace(state, images={**state.images, self.graph.in_dram(root): layouts[0]})
        for (node, _), before, after in zip(seen.nodes, layouts, layouts[1:], strict=False):
            state = state.did(Rename(node, before, after), 0).with_copy(node.outputs[0], after)
        return state

    def _anyhow(self, state: State, name: str) -> State | None:
        """Load a waiting tensor in one of the usual layouts, or as demanded, and rename or move it as its nodes say."""
        seen = state.waiting.get(name)
        if seen is None:
            return None
        root = seen.root
        if root in state.waiting:
            wanted = self._wanted(state, root)
            layouts = [wanted] if wanted is not None else self._usual(root)
            loaded = (self._load_root(state, Waiting(root), [layout]) for layout in layouts)
            state = next((found for found in loaded if found is not None), state)
        for node, _ in seen.nodes:
            if root not in state.there:
                return None
            if node.outputs[0] not in state.there:
                waiting = {n: w for n, w in state.waiting.items() if n != node.outputs[0]}
                moved = self._rearranged(replace(state, waiting=waiting), node)
                state = min(moved, key=lambda s: s.steps, default=state)
        return state if name in state.there else None

    def _wanted(self, state: State, root: str) -> Layout | None:
        """The layout that a tensor must be loaded in: as demanded, or as other pieces of it."""
        forced = self.forced.get(root)
        return forced if forced is not None or root not in self.graph.pieces else self._chosen(state, root)

    def _chosen(self, state: State, name: str) -> Layout | None:
        return state.images.get(self.graph.in_dram(name))

    def _usual(self, name: str) -> Sequence[Layout]:
        return slices.usual_forms(self.graph.specs[name], self.graph.pieces.get(name), self.room)

    def _stored(self, state: State, names: Iterable[str]) -> State:
        """Outputs to DRAM: states in the layout of their image, others in the one that is cheapest to store."""
        for name in names:
            if name in self.graph.inputs or name in self.graph.states:
                continue
            if name not in state.there:
                state = _some(self._anyhow(state, name), name)
            wanted = self._image(state, name)
            if wanted is not None:
                state = _some(self.fetch(state, name, wanted), name)
            spec = self.graph.specs[name]
            piece = self.graph.pieces.get(name)
            present = [layout for layout in state.there[name] if slices.suits(spec, piece, layout)]
            if wanted is None and not present:
                wanted = next(iter(self._usual(name)), None)
                state = _some(None if wanted is None else self.fetch(state, name, wanted), name)
            layout = wanted or min(present, key=lambda x: store_steps(spec, x))
            state = state.did(Store(name, layout), store_steps(spec, layout))
            if piece is not None:
                state = replace(state, images={**state.images, piece.tensor: layout})
        return state

    def _image(self, state: State, name: str) -> Layout | None:
        tensor = self.graph.in_dram(name)
        root = tensor.removesuffix(":out")
        if tensor != root and root in map(self.graph.in_dram, self.graph.states):
            return state.images.get(root) or self._wanted(state, name)
        return self._wanted(state, name)


def _following(pin: str | None, node: MNNode, states: Sequence[State]) -> Sequence[State]:
    """The states that computed a node as it is pinned, or all if none did."""
    return (pin is not None and [state for state in states if way_of(state, node) == pin]) or states


def _stored_early(graph: CoreGraph) -> frozenset[str]:
    """Pieces of outputs are stored as soon as they are known, except those of states, whose old values may be read."""
    made = {name for node in graph.nodes for name in node.outputs}
    states = {f"{graph.in_dram(name)}:out" for name in graph.states}
    return frozenset(n for n in graph.outputs if n in graph.pieces and n in made and graph.in_dram(n) not in states)


def _is_renaming(job: Job) -> bool:
    return job.op in ("Identity", "Transpose", "Reshape")


def _some(state: State | None, name: str) -> State:
    """The state; PF0421 where an output can be brought into no form in which it could be stored."""
    if state is None:
        what = f"the output {name!r} finds no layout in which it fits into local memory and can be stored"
        raise NoRoomError("PF0421", what, tensors=[name])
    return state


def _nowhere(node: MNNode) -> NoRoomError:
    what = f"{node.op} {node.name!r} finds no layout in which operands and results fit into local memory"
    return NoRoomError("PF0421", what, nodes=[node.name], where=node.source)
