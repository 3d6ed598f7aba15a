"""Turns: neighbouring nodes of one shape run side by side, a piece of each at a time.

That way loads overlap with the arithmetic that reads them. It also means that all values of a turn are alive at once,
except that a value may take the place of an operand of its shape, piece by piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pfcomp.ir.model import MNNode

MOST_LOADS = 8
"""Loads in a turn: each needs room for its chunks in L2BM."""

Turn = tuple[MNNode, ...]


def turns(nodes: Iterable[MNNode], shape_of: Callable[[MNNode], tuple[int, ...]]) -> list[Turn]:
    """Group nodes in order; stores stay alone."""
    result: list[Turn] = []
    for node in nodes:
        if result and _joins(node, result[-1], shape_of):
            result[-1] = (*result[-1], node)
        else:
            result.append((node,))
    return result


def _joins(node: MNNode, turn: Turn, shape_of: Callable[[MNNode], tuple[int, ...]]) -> bool:
    if "Upload" in (node.op, turn[0].op) or shape_of(node) != shape_of(turn[0]):
        return False
    return sum(n.op == "Download" for n in (*turn, node)) <= MOST_LOADS
