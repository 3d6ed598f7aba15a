"""Scheduling priority: emission order, corrected by the critical path below each node."""

from __future__ import annotations

from collections import Counter

from .nodes import Node

HIGHEST = 48
"""Steps of critical path that count; what lies further ahead does not matter yet."""

SCALE = 16


def set_priorities(nodes: list[Node]) -> None:
    """Set `height` (steps to the last dependent, at most `HIGHEST`) and `key` (lowest first)."""
    counts = Counter(node.lane[0] for node in nodes if node.lane is not None)
    operations = sum(counts.values())
    pace = SCALE * max(counts.values(), default=1) // max(operations, 1)
    for node in reversed(nodes):
        height = 1 + node.follower.height if node.follower is not None else 0
        for successor, distance in node.successors:
            height = max(height, distance + successor.height)
        node.height = min(height, HIGHEST)
        node.key = node.order * pace - node.height * SCALE
        node.registers = len({use[1] for use in node.uses}) + _physical(node)


def _physical(node: Node) -> int:
    return 0 if node.needs is None else sum(key is not None for key in node.needs.registers)
