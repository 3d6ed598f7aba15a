"""Fusion: chains of element-wise nodes on the same shape become one node whose inner values live in registers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pfcomp.ir.model import MNNode

Shapes = dict[str, tuple[int, ...]]

MAX_BODY = 24
"""Nodes per fused body: bounds the registers that four vectors in flight can need."""


def fuse(
    nodes: tuple[MNNode, ...], shapes: Shapes, kept: frozenset[str], fusible: Callable[[MNNode], bool] = lambda _: True
) -> tuple[MNNode, ...]:
    """Merge each node into a producer of its shape where no cycle arises; `kept` values stay observable.

    Returns nodes in an order that respects the dependences. A group of one node is returned as it is.
    """
    grouping = _Grouping(shapes, fusible)
    for node in nodes:
        grouping.add(node)
    order = _topological(grouping.before)
    return tuple(_merge(grouping.groups[g], nodes, kept) for g in order)


@dataclass(slots=True)
class _Grouping:
    """Groups in order of their first node; `before[g]` are the groups that g depends on, transitively."""

    shapes: Shapes
    fusible: Callable[[MNNode], bool]
    groups: list[list[MNNode]] = field(default_factory=list)
    before: list[set[int]] = field(default_factory=list)
    group_of: dict[str, int] = field(default_factory=dict)

    def add(self, node: MNNode) -> None:
        sources = [self.group_of[name] for name in node.inputs if name in self.group_of]
        candidates = dict.fromkeys(reversed(sources))
        joined = (g for g in candidates if self.fusible(node) and self._joins(node, g, sources))
        home = next(joined, len(self.groups))
        if home == len(self.groups):
            self.groups.append([])
            self.before.append(set())
        self.groups[home].append(node)
        self._depend(home, sources)
        self.group_of.update(dict.fromkeys(node.outputs, home))

    def _joins(self, node: MNNode, group: int, sources: list[int]) -> bool:
        members = self.groups[group]
        if not self.fusible(members[0]):
            return False
        same_shape = self.shapes[node.outputs[0]] == self.shapes[members[0].outputs[0]]
        cycle = any(group in self.before[s] for s in sources if s != group)
        return same_shape and not cycle and len(members) < MAX_BODY

    def _depend(self, group: int, sources: list[int]) -> None:
        new = {s for s in sources if s != group}
        new.update(*(self.before[s] for s in new))
        self.before[group] |= new
        for later in (b for b in self.before if group in b):
            later.update(self.before[group])


def _topological(before: list[set[int]]) -> list[int]:
    """Groups ordered by dependence, then by number."""
    order: list[int] = []
    left = set(range(len(before)))
    while left:
        ready = min(g for g in left if not before[g] & left)
        order.append(ready)
        left.remove(ready)
    return order


def _merge(group: list[MNNode], nodes: tuple[MNNode, ...], kept: frozenset[str]) -> MNNode:
    if len(group) == 1:
        return group[0]
    made = {name for node in group for name in node.outputs}
    inside = {node.name for node in group}
    read_outside = {name for node in nodes if node.name not in inside for name in node.inputs}
    inputs = dict.fromkeys(name for node in group for name in node.inputs if name not in made)
    outputs = tuple(name for node in group for name in node.outputs if name in kept or name in read_outside)
    return replace(group[-1], name=group[-1].name, op="Fused", inputs=tuple(inputs), outputs=outputs, body=tuple(group))
