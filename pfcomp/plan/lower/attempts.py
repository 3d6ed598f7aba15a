"""Plans a graph as it is, and where local memory does not suffice in ever smaller pieces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import MNNode
from pfcomp.plan.lower.graph import CoreGraph
from pfcomp.plan.lower.indices import VECTOR, Indices
from pfcomp.plan.lower.slicing import sliced

Result = TypeVar("Result")

MEMORIES = 2
TOO_LARGE = ("PF0421", "PF0422")
MOST_NODES = 2048
"""Nodes of a graph in pieces beyond which planning takes too long to be of use."""


def in_pieces(
    graph: CoreGraph, budget: int, float_dtype: str, whole: frozenset[str], attempt: Callable[[CoreGraph], Result]
) -> Result:
    """What `attempt` makes of the graph, or of one in as few pieces as let it succeed.

    `budget` is in long words per PE and memory; the tensors `whole` keep images without slices. Raises UnsupportedError
    PF0421 if no pieces are small enough.
    """
    indices = Indices.of(graph, float_dtype)
    failure: UnsupportedError | None = None
    for candidate in _candidates(graph, indices, MEMORIES * budget, whole):
        try:
            return attempt(candidate)
        except UnsupportedError as error:
            if error.code not in TOO_LARGE:
                raise
            failure = error
    raise _too_large(graph, Indices.of(graph, float_dtype), budget, failure)


def _candidates(graph: CoreGraph, indices: Indices, room: int, whole: frozenset[str]) -> Iterator[CoreGraph]:
    """The graph itself if its largest node may fit; then graphs with ever smaller nodes."""
    limit = max(map(indices.load, graph.nodes), default=0)
    if limit <= room:
        yield graph
    limit, before = min(limit - 1, room), dict(indices.halvings)
    while limit >= VECTOR:
        if indices.cut(limit) and indices.halvings != before:
            before = dict(indices.halvings)
            candidate = sliced(graph, indices, whole)
            if len(candidate.nodes) > MOST_NODES:
                return
            yield candidate
        limit //= 2


def _too_large(graph: CoreGraph, indices: Indices, budget: int, failure: UnsupportedError | None) -> UnsupportedError:
    """Which node is the largest that cannot be cut, or the largest of all, and what would help."""
    fixed = [node for node in graph.nodes if not indices.labelled(node) and indices.load(node) > budget]
    node = max(fixed or graph.nodes, key=indices.load)
    detail = "" if failure is None else f" ({failure.what})"
    return UnsupportedError(
        "PF0421",
        f"{node.op} {node.name!r} needs {indices.load(node)} long words per PE of the {MEMORIES * budget} of local "
        f"memory and {_cuttable(indices, node)}{detail}",
        where=node.source,
        hint="use a smaller batch, raise the option sram_budget, or split the function",
    )


def _cuttable(indices: Indices, node: MNNode) -> str:
    labels = indices.labelled(node)
    if not labels:
        return "cannot be cut into pieces"
    return f"does not fit in pieces along axes of lengths {', '.join(str(indices.length(i)) for i in labels.values())}"
