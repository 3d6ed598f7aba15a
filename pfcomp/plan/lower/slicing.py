"""Cuts nodes whose operands and results are too large for local memory into nodes on pieces (design.md 6.4).

Tensors in DRAM are loaded and stored piece by piece, each piece a time slice of the image. Where a node needs an axis
as a whole its pieces are joined, where a result was made as a whole pieces are cut out of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pfcomp.ir.elements import HOST_TYPES
from pfcomp.ir.model import MNNode
from pfcomp.kernels.api import Attribute, Spec
from pfcomp.plan.lower.graph import CoreGraph, Piece
from pfcomp.plan.lower.indices import Axis, Indices
from pfcomp.plan.lower.patterns import Labels
from pfcomp.plan.slices import can_be_cut

Position = tuple[int | None, ...]
"""Number of a piece along every axis; None where it has the whole axis."""


def sliced(graph: CoreGraph, indices: Indices, whole: frozenset[str] = frozenset()) -> CoreGraph:
    """The graph with one node for every piece along the indices that are cut.

    The tensors `whole` keep images without slices.
    """
    return _Cutter(graph, indices, whole).run()


@dataclass(frozen=True, slots=True)
class _Made:
    """A new node and its place in the order: the numbers of its pieces along the indices that are cut."""

    node: MNNode
    key: tuple[float, ...]


class _Cutter:
    def __init__(self, graph: CoreGraph, indices: Indices, whole: frozenset[str]) -> None:
        self.old, self.indices = graph, indices
        self.loops = indices.order()
        self.new = CoreGraph(dict(graph.specs), (), (), (), dict(graph.constants))
        self.form: dict[str, tuple[bool, ...]] = {}
        self.made: list[_Made] = []
        self.known: set[str] = set()
        self.whole = whole | self._without_slices()

    def run(self) -> CoreGraph:
        old, new = self.old, self.new
        for name in (*old.inputs, *old.states, *old.constants):
            self._given(name)
        for node in old.nodes:
            self._node(node)
        new.inputs = tuple(piece for name in old.inputs for piece in self._in_dram(name, written=False))
        new.states = tuple(piece for name in old.states for piece in self._in_dram(name, written=True))
        new.outputs = tuple(piece for name in old.outputs for piece in self._output(name))
        new.nodes = _in_order(self.made, new.outputs)
        read = {name for node in new.nodes for name in node.inputs} | set(new.outputs)
        new.constants = {name: array for name, array in new.constants.items() if name in read}
        return new

    def _without_slices(self) -> set[str]:
        """Tensors in DRAM whose pieces cannot be slices of one image; a state and its next value are alike."""
        found: set[str] = set()
        states = {f"{name}:out" for name in self.old.states}
        for name in (*self.old.inputs, *self.old.states, *self.old.outputs):
            written = name in self.old.states or name in self.old.outputs
            piece = Piece(name, (0,) * len(self._counts(name)), self._counts(name), self._lengths(name), written)
            if any(self._cuts(name)) and not can_be_cut(Spec(piece.lengths, self.old.specs[name].dtype), piece):
                found |= {name, name.removesuffix(":out")} if name in states else {name}
        return found | {f"{name}:out" for name in found & set(self.old.states)}

    def _lengths(self, name: str) -> tuple[int, ...]:
        return self.indices.lengths(name)

    def _counts(self, name: str) -> tuple[int, ...]:
        return tuple(-(-n // m) for n, m in zip(self.old.specs[name].shape, self._lengths(name), strict=True))

    def _cuts(self, name: str) -> tuple[bool, ...]:
        return tuple(count > 1 for count in self._counts(name))

    def _positions(self, name: str, form: Sequence[bool]) -> Iterator[Position]:
        ranges = [range(c) if cut else (None,) for c, cut in zip(self._counts(name), form, strict=True)]
        yield from product(*ranges)

    def _given(self, name: str) -> None:
        """Pieces of an input, state or constant."""
        keep = name in self.whole or (name in self.old.constants and name in self.old.outputs)
        form = tuple(cut and not keep for cut in self._cuts(name))
        self.form[name] = form
        for position in self._positions(name, form):
            piece = self._declare(name, position)
            if name in self.old.constants and any(form):
                self.new.constants[piece] = self.old.constants[name][self._region(name, position)]

    def _in_dram(self, name: str, *, written: bool) -> list[str]:
        """The pieces of a tensor in DRAM."""
        if name in self.whole or not any(self._cuts(name)):
            return [self._get(name, (None,) * len(self._cuts(name)))]
        counts, lengths = self._counts(name), self._lengths(name)
        found = []
        for position in self._positions(name, self._cuts(name)):
            piece = self._get(name, position)
            found.append(piece)
            if piece not in self.new.pieces:
                index = tuple(number or 0 for number in position)
                self.new.pieces[piece] = Piece(name, index, counts, lengths, written)
        return found

    def _output(self, name: str) -> list[str]:
        if name in self.old.constants:
            return [name]
        return self._in_dram(name, written=True)

    def _region(self, name: str, position: Position) -> tuple[slice, ...]:
        lengths, shape = self._lengths(name), self.old.specs[name].shape
        return tuple(
            slice(0, n) if number is None else slice(number * m, min(n, number * m + m))
            for number, m, n in zip(position, lengths, shape, strict=True)
        )

    def _declare(self, name: str, position: Position) -> str:
        """The piece's name, with its shape from now on known."""
        piece = _piece_name(name, position)
        shape = tuple(part.stop - part.start for part in self._region(name, position))
        self.new.specs[piece] = Spec(shape, self.old.specs[name].dtype)
        self.new.parts[piece] = name
        self.known.add(piece)
        return piece

    def _get(self, name: str, position: Position) -> str:
        """The name of a piece, which is cut out or joined if it was not made in that form."""
        piece = _piece_name(name, position)
        if piece in self.known:
            return piece
        axes = list(enumerate(zip(position, self.form[name], strict=True)))
        joined = next((axis for axis, (number, cut) in axes if number is None and cut), None)
        if joined is not None:  # of every piece only the part that is needed
            return self._join(name, position, joined)
        whole = next(axis for axis, (number, cut) in axes if number is not None and not cut)
        return self._cut_out(name, position, whole)

    def _cut_out(self, name: str, position: Position, axis: int) -> str:
        source = self._get(name, _with(position, axis, None))
        piece = self._declare(name, position)
        start = (position[axis] or 0) * self._lengths(name)[axis]
        starts = tuple(start if k == axis else 0 for k in range(len(position)))
        self._append("Slice", (source,), piece, (("starts", starts), ("steps", (1,) * len(position))))
        return piece

    def _join(self, name: str, position: Position, axis: int) -> str:
        sources = tuple(self._get(name, _with(position, axis, k)) for k in range(self._counts(name)[axis]))
        piece = self._declare(name, position)
        self._append("Concat", sources, piece, (("axis", axis),))
        return piece

    def _append(
        self, op: str, inputs: tuple[str, ...], piece: str, attributes: tuple[tuple[str, Attribute], ...] = ()
    ) -> None:
        self.made.append(_Made(MNNode(piece, op, inputs, (piece,), attributes), self._last))

    @property
    def _last(self) -> tuple[float, ...]:
        return (float("inf"),) * len(self.loops)

    def _node(self, node: MNNode) -> None:
        """One node for every piece of the result, or several whose results are combined."""
        own, classes = self.indices.patterns[node.name], self.indices.labelled(node)
        counts = {label: -(-self.indices.length(c) // self.indices.piece(c)) for label, c in classes.items()}
        kept = [label for label in own.kept if counts[label] > 1]
        combined = [label for label in own.combined if counts[label] > 1]
        for name, labels in zip(node.outputs, own.outputs, strict=True):
            self.form[name] = tuple(label in kept for label in labels)
        for numbers in product(*(range(counts[label]) for label in kept)):
            at = dict(zip(kept, numbers, strict=True))
            if combined:
                ranges = [range(counts[label]) for label in combined]
                inner = [dict(zip(combined, n, strict=True)) for n in product(*ranges)]
                self._partial(node, at, inner)
            else:
                results = [self._declare(n, _at(x, at)) for n, x in zip(node.outputs, own.outputs, strict=True)]
                self._instance(node, node.op, at, tuple(results))

    def _partial(self, node: MNNode, at: Mapping[str, int], inner: Sequence[Mapping[str, int]]) -> None:
        """Partial results, each added to the sum so far."""
        own, dtype = self.indices.patterns[node.name], self.old.specs[node.outputs[0]].dtype
        piece = self._declare(node.outputs[0], _at(own.outputs[0], at))
        mean = node.op == "ReduceMean"
        op, total = "ReduceSum" if mean else node.op, ""
        for number, more in enumerate(inner):
            here = {**at, **more}
            part, last = f"{piece}.part{number}", number == len(inner) - 1
            self._like(part, piece)
            self._instance(node, op, here, (part,))
            if number:
                result = piece if last and not mean else f"{piece}.sum{number}"
                self._like(result, piece)
                joined = MNNode(result, own.combine, (total, part), (result,), source=node.source)
                self.made.append(_Made(joined, self._key(node, here)))
                part = result
            total = part
        if mean:
            axes = dict(node.attributes)["axes"]
            assert isinstance(axes, tuple)
            count = int(np.prod([self.old.specs[node.inputs[0]].shape[axis] for axis in axes]))
            share = f"{piece}.share"
            self.new.constants[share] = np.asarray(1 / count, HOST_TYPES[dtype])
            self.new.specs[share] = Spec((), dtype)
            scaled = MNNode(piece, "Mul", (total, share), (piece,), source=node.source)
            self.made.append(_Made(scaled, self._key(node, {**at, **inner[-1]})))

    def _like(self, name: str, piece: str) -> None:
        """A tensor with the elements of a piece before all are added up."""
        self.new.specs[name] = self.new.specs[piece]
        self.new.parts[name] = self.new.parts[piece]

    def _instance(self, node: MNNode, op: str, at: Mapping[str, int], results: tuple[str, ...]) -> None:
        """The node on the pieces at the numbers `at` of its labels."""
        own = self.indices.patterns[node.name]
        given = [self._get(n, _at(labels, at)) for n, labels in zip(node.inputs, own.inputs, strict=True)]
        suffix = f"[{','.join(map(str, at.values()))}]" if at else ""
        names = {**dict(zip(node.inputs, given, strict=True)), **dict(zip(node.outputs, results, strict=True))}
        body = tuple(self._inner(step, names, suffix, self.new.specs[results[0]].shape) for step in node.body)
        name = f"{node.name}{suffix}"
        self.new.parts[name] = node.name
        made = replace(node, name=name, op=op, inputs=tuple(given), outputs=results, body=body)
        self.made.append(_Made(made, self._key(node, at)))

    def _inner(self, step: MNNode, names: dict[str, str], suffix: str, shape: tuple[int, ...]) -> MNNode:
        """A node of a fused body, its inner values under names of their own."""
        for name in step.outputs:
            if name not in names:
                names[name] = f"{name}{suffix}"
                self.new.specs[names[name]] = Spec(shape, self.old.specs[name].dtype)
        inputs, outputs = (tuple(names[n] for n in group) for group in (step.inputs, step.outputs))
        return replace(step, name=f"{step.name}{suffix}", inputs=inputs, outputs=outputs)

    def _key(self, node: MNNode, at: Mapping[str, int]) -> tuple[float, ...]:
        """The numbers of the node's pieces along all indices that are cut; infinite where it has no such index."""
        numbers: dict[Axis, int] = {}
        for label, index in self.indices.labelled(node).items():
            if label in at:
                numbers[index] = max(numbers.get(index, 0), at[label])
        return tuple(float(numbers.get(index, float("inf"))) for index in self.loops)


def _at(labels: Labels, numbers: Mapping[str, int]) -> Position:
    return tuple(numbers.get(label) if label else None for label in labels)


def _with(position: Position, axis: int, number: int | None) -> Position:
    return (*position[:axis], number, *position[axis + 1 :])


def _piece_name(name: str, position: Position) -> str:
    if all(number is None for number in position):
        return name
    return f"{name}[{','.join(':' if number is None else str(number) for number in position)}]"


def _in_order(made: Sequence[_Made], outputs: Sequence[str]) -> list[MNNode]:
    """Piece after piece through all nodes; what a node needs comes just before it, what nothing needs is left out."""
    needed = _needed(made, outputs)
    producer = {name: number for number, new in enumerate(made) for name in new.node.outputs}
    order: dict[int, None] = {}
    for first in sorted(needed, key=lambda number: (made[number].key, number)):
        waiting = [first]
        while waiting:
            sources = (producer[n] for n in made[waiting[-1]].node.inputs if n in producer)
            missing = next((number for number in sources if number not in order), None)
            if missing is None:
                order.setdefault(waiting.pop())
            else:
                waiting.append(missing)
    return [made[number].node for number in order]


def _needed(made: Sequence[_Made], outputs: Sequence[str]) -> list[int]:
    """Numbers of the nodes that an output depends on."""
    wanted, found = set(outputs), []
    for number in reversed(range(len(made))):
        if wanted & set(made[number].node.outputs):
            found.append(number)
            wanted.update(made[number].node.inputs)
    return found[::-1]
