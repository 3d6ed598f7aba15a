"""Layouts in which the readers of a tensor would like it best, so that a rearrangement can leave its result there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from pfcomp.ir.model import MNNode
from pfcomp.kernels.api import Binding, Job
from pfcomp.kernels.registry import kernels
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.plan.lower.graph import CoreGraph
from pfcomp.plan.lower.views import original

MOST = 2
"""Layouts that are sought for one tensor: those of its readers' cheapest ways."""


@dataclass(slots=True)
class Readers:
    """The readers of every tensor of a graph, and what they seek."""

    graph: CoreGraph
    float_dtype: str
    by_tensor: dict[str, list[MNNode]] = field(default_factory=dict)
    known: dict[str, tuple[Layout, ...]] = field(default_factory=dict)
    """What was found before: every state of the search asks again."""

    @staticmethod
    def of(graph: CoreGraph, float_dtype: str) -> Readers:
        found = Readers(graph, float_dtype)
        for node in graph.nodes:
            for name in dict.fromkeys(node.inputs):
                found.by_tensor.setdefault(name, []).append(node)
        return found

    def sought(self, tensor: str) -> tuple[Layout, ...]:
        """Layouts of a tensor from which a kernel that reads it can work as it is, its cheapest ways first."""
        if tensor not in self.known:
            ways = sorted(self._ways(tensor), key=lambda way: way[0])
            self.known[tensor] = tuple({canonical(layout): layout for _, layout in ways}.values())[:MOST]
        return self.known[tensor]

    def _ways(self, tensor: str) -> Iterator[tuple[int, Layout]]:
        """Steps and layouts, through renamings in between."""
        for node in self.by_tensor.get(tensor, ()):
            job = self.graph.job(node, self.float_dtype)
            if node.op in kernels():
                for way in _cheapest(job):
                    yield from ((way.steps, way.inputs[k]) for k, name in enumerate(node.inputs) if name == tensor)
            elif node.op in ("Identity", "Transpose", "Reshape"):
                for steps, layout in self._ways(node.outputs[0]):
                    before = original(job, layout)
                    if before is not None:
                        yield steps, before


@lru_cache(maxsize=4096)
def _cheapest(job: Job) -> tuple[Binding, ...]:
    """The kernel's cheapest ways where its operands may come from anywhere."""
    ways = kernels()[job.op].bindings(job, [()] * len(job.inputs))
    return tuple(sorted(ways, key=lambda way: way.steps)[:MOST])
