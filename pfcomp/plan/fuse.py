"""Fusion: chains of element-wise nodes on the same shape become one node whose inner values live in registers."""

from __future__ import annotations

from dataclasses import replace

from pfcomp.ir.model import MNNode

MAX_BODY = 24
"""Nodes per fused body: bounds the registers that four vectors in flight can need."""


def fuse(nodes: tuple[MNNode, ...], shapes: dict[str, tuple[int, ...]], kept: frozenset[str]) -> tuple[MNNode, ...]:
    """Merge each node into a producer of its shape where no cycle arises; `kept` values stay observable.

    Returns nodes in an order that respects the dependences. A group of one node is returned as it is.
    """
    groups: list[list[MNNode]] = []
    group_of: dict[str, int] = {}
    before: list[set[int]] = []  # groups that each group depends on, transitively
    for node in nodes:
        sources = [group_of[name] for name in node.inputs if name in group_of]
        home = next((g for g in dict.fromkeys(reversed(sources)) if _joins(node, g, groups, sources, before, shapes)), -1)
        if home < 0:
            home = len(groups)
            groups.append([])
            before.append(set())
        groups[home].append(node)
        _add_dependences(home, sources, before)
        group_of.update(dict.fromkeys(node.outputs, home))
    order = _topological(before)
    return tuple(_merge(groups[g], nodes, kept) for g in order)


def _joins(
    node: MNNode,
    group: int,
    groups: list[list[MNNode]],
    sources: list[int],
    before: list[set[int]],
    shapes: dict[str, tuple[int, ...]],
) -> bool:
    same_shape = shapes[node.outputs[0]] == shapes[groups[group][0].outputs[0]]
    cycle = any(group in before[s] for s in sources if s != group)
    return same_shape and not cycle and len(groups[group]) < MAX_BODY


def _add_dependences(group: int, sources: list[int], before: list[set[int]]) -> None:
    new = {s for s in sources if s != group}
    for s in tuple(new):
        new |= before[s]
    before[group] |= new
    for other in before:
        if group in other:
            other |= before[group]


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
