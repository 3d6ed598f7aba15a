"""The indices of a graph: axes of different tensors that run together, and into how many pieces each is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import prod

from pfcomp.ir.model import MNNode
from pfcomp.ir.packing import in_vectors
from pfcomp.kernels.api import Binding, Job, Spec
from pfcomp.kernels.registry import kernels
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.plan.lower.graph import CoreGraph
from pfcomp.plan.lower.patterns import Labels, Pattern, pattern

Axis = tuple[str, int]

PES = 4096
"""Processing elements of the chip: the most that a value can be spread over."""
NOWHERE = 1 << 30
"""Added to the long words of a job that is too large for every way of its kernel."""


@dataclass(slots=True)
class Indices:
    """Classes of axes (the class is named by its first axis), their lengths, and how often each has been halved."""

    graph: CoreGraph
    float_dtype: str
    patterns: dict[str, Pattern] = field(default_factory=dict)
    parent: dict[Axis, Axis] = field(default_factory=dict)
    halvings: dict[Axis, int] = field(default_factory=dict)
    limits: dict[str, int] = field(default_factory=dict)
    """Long words per PE that single nodes may need, where that is less than others may."""

    @staticmethod
    def of(graph: CoreGraph, float_dtype: str) -> Indices:
        """Axes that a node runs through together are one index, and those of a state and its next value."""
        found = Indices(graph, float_dtype, {node.name: pattern(graph, node) for node in graph.nodes})
        for state in graph.states:
            for axis in range(len(graph.specs[state].shape)):
                if f"{state}:out" in graph.outputs:
                    found._join((state, axis), (f"{state}:out", axis))
        for node in graph.nodes:
            for axes in found._together(node).values():
                for other in axes[1:]:
                    found._join(axes[0], other)
        return found

    def _together(self, node: MNNode) -> dict[str, list[Axis]]:
        own = self.patterns[node.name]
        groups: dict[str, list[Axis]] = {}
        for name, labels in zip((*node.inputs, *node.outputs), (*own.inputs, *own.outputs), strict=True):
            for axis, label in enumerate(labels):
                if label:
                    groups.setdefault(label, []).append((name, axis))
        return groups

    def _join(self, first: Axis, second: Axis) -> None:
        a, b = sorted((self.index(first), self.index(second)))
        if a != b:
            self.parent[b] = a

    def index(self, axis: Axis) -> Axis:
        """The class of an axis."""
        while axis in self.parent:
            axis = self.parent[axis]
        return axis

    def length(self, index: Axis) -> int:
        return self.graph.specs[index[0]].shape[index[1]]

    def piece(self, axis: Axis) -> int:
        """Elements of a piece along an axis: a power of two, so that its layout needs no padding; or all."""
        index = self.index(axis)
        length, halvings = self.length(index), self.halvings.get(index, 0)
        return min(length, (1 << (length - 1).bit_length()) >> halvings)

    def lengths(self, name: str) -> tuple[int, ...]:
        """Lengths of the pieces of a tensor along its axes."""
        return tuple(self.piece((name, axis)) for axis in range(len(self.graph.specs[name].shape)))

    def labelled(self, node: MNNode) -> dict[str, Axis]:
        """The class of every label of a node."""
        return {label: self.index(axes[0]) for label, axes in self._together(node).items()}

    def load(self, node: MNNode) -> int:
        """Long words per PE that operands and results of a node on one set of pieces need in both memories."""
        own = self.patterns[node.name]
        inputs, outputs = (
            tuple(self._cut_spec(name, labels) for name, labels in zip(names, marks, strict=True))
            for names, marks in ((node.inputs, own.inputs), (node.outputs, own.outputs))
        )
        if node.op in kernels():
            job = Job(node.op, inputs, outputs, node.attributes, self.float_dtype)
            return kernel_words(job) or NOWHERE + _in_both([spread_words(spec) for spec in (*inputs, *outputs)])
        distinct = dict(zip((*node.inputs, *node.outputs), (*inputs, *outputs), strict=True))
        return _in_both([spread_words(spec) for spec in distinct.values()])

    def _cut_spec(self, name: str, labels: Labels) -> Spec:
        spec = self.graph.specs[name]
        pieces = zip(spec.shape, labels, strict=True)
        return Spec(tuple(self.piece((name, k)) if label else n for k, (n, label) in enumerate(pieces)), spec.dtype)

    def cut(self, limit: int, first: Sequence[Axis] = ()) -> bool:
        """Halve indices until every node that can be cut is within `limit` long words per PE; False if none is cut.

        Of the indices `first` the one with the longest pieces is taken wherever cutting it helps.
        """
        while True:
            heavy = [node for node in self.graph.nodes if self.load(node) > self._limit(node, limit)]
            options = [index for node in heavy for index in self.options(node)]
            if not options:
                return any(self.piece(index) < self.length(index) for index in self.halvings)
            worst = max(heavy, key=lambda node: (bool(self.options(node)), self.load(node)))
            usual = [index for index in self.options(worst) if index in first]
            if usual:
                best = max(usual, key=lambda index: (self.piece(index), index))
            else:
                best = min(self.options(worst), key=lambda index: self._cost(index, self.graph.nodes))
            self.halvings[best] = self.halvings.get(best, 0) + 1

    def _limit(self, node: MNNode, limit: int) -> int:
        return min(limit, self.limits.get(node.name, limit))

    def options(self, node: MNNode) -> list[Axis]:
        """Indices of a node whose cutting makes it smaller."""
        found = [index for index in dict.fromkeys(self.labelled(node).values()) if self.piece(index) > 1]
        return [index for index in found if self._halved(index, [node]) < self.load(node)]

    def _halved(self, index: Axis, nodes: list[MNNode]) -> int:
        """What the nodes weigh after cutting an index once more."""
        before = dict(self.halvings)
        self.halvings[index] = before.get(index, 0) + 1
        weight = sum(self.load(node) for node in nodes)
        self.halvings = before
        return weight

    def _cost(self, index: Axis, nodes: list[MNNode]) -> tuple[int, int, int]:
        """Cheap cuts first; ties go to indices that nothing is summed over."""
        return self._halved(index, nodes), self.summed(index), -self.length(index)

    def summed(self, index: Axis) -> int:
        """How many nodes combine partial results along an index."""
        return sum(
            any(index == self.labelled(node)[label] for label in self.patterns[node.name].combined)
            for node in self.graph.nodes
        )

    def order(self) -> list[Axis]:
        """All indices that are cut: outer loops first, those that results are summed over last."""
        cut = [index for index in self.halvings if self.piece(index) < self.length(index)]
        return sorted(cut, key=lambda index: (self.summed(index), index))


@lru_cache(maxsize=4096)
def kernel_words(job: Job) -> int:
    """Long words per PE that the kernel's smallest way to run a job needs in both memories; 0 if it has none."""
    ways = list(kernels()[job.op].bindings(job, [()] * len(job.inputs)))
    return min((_in_both(_way_words(way)) for way in ways), default=0)


def _way_words(way: Binding) -> list[int]:
    values = [extent(layout, Level.ADDR) for layout in (*way.inputs, *way.outputs)]
    return [in_vectors(words) for words in (*values, *(scratch.words for scratch in way.scratch))]


def _in_both(words: Sequence[int]) -> int:
    """Two memories of half of this have room for values of so many words."""
    return max(sum(words), 2 * max(words, default=0))


def spread_words(spec: Spec) -> int:
    """Long words per PE of a value that all PEs share, in whole vectors."""
    words = -(-prod(spec.shape) * spec.dtype.bits // (64 * PES))
    return in_vectors(words)
