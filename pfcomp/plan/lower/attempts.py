"""Plans a graph as it is, and where local memory does not suffice in ever smaller pieces: the cheapest of several cuts.

Which axes are best cut is not known before layouts are: a piece that is short along one axis may need many more copies
of an operand than one that is short along another. So graphs of few nodes are planned for every choice of one or two
axes of their largest node, and the plan with the fewest steps is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeVar

from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import MNNode
from pfcomp.ir.packing import VECTOR
from pfcomp.plan.lower.graph import CoreGraph
from pfcomp.plan.lower.indices import Axis, Indices
from pfcomp.plan.lower.slicing import sliced
from pfcomp.plan.no_room import HINT, NoRoomError

Result = TypeVar("Result")
Attempt = Callable[[CoreGraph], tuple[int, Result]]
"""Plans a graph; returns the steps and the plan."""

MEMORIES = 2
MOST_NODES = 2048
"""Nodes of a graph in pieces beyond which planning takes too long to be of use."""
FEW_NODES = 4
"""Nodes of a graph up to which different cuts are planned and compared."""
MOST_COMPARED = 96
"""Nodes of all graphs in pieces that are planned only to be compared."""
SMALLER = 2
"""Times that pieces are halved after the first that fit, for graphs of few nodes; others get one more cut."""
MOST_AXES = 4
"""Axes of the largest node, the longest ones, that are tried to be cut first."""


def in_pieces(
    graph: CoreGraph, budget: int, float_dtype: str, whole: frozenset[str], attempt: Attempt[Result]
) -> tuple[int, Result]:
    """What `attempt` makes of the graph, or of one in pieces that let it succeed.

    A graph with nodes that fill much of local memory is also planned in smaller pieces than it needs: the transfers of
    one piece can run beside the arithmetic of another, and more layouts fit. The plan with the fewest steps is taken.
    `budget` is in long words per PE and memory; the tensors `whole` keep images without slices. Raises UnsupportedError
    PF0421 if no pieces are small enough.
    """
    indices, room = Indices.of(graph, float_dtype), MEMORIES * budget
    failure: UnsupportedError | None = None
    found: list[tuple[int, Result]] = []
    compared = 0
    more = (SMALLER if len(graph.nodes) <= FEW_NODES else 1) if 4 * _largest(graph, indices) > room else 0
    for generation in _generations(graph, indices, room, whole):
        for number, (cut, candidate) in enumerate(generation):
            optional = bool(found) or number > 0
            if optional and compared + len(candidate.nodes) > MOST_COMPARED:
                continue
            compared += len(candidate.nodes)
            try:
                found.append(attempt(candidate))
            except NoRoomError as error:
                failure = error
                cut.blame(candidate, error)
        if found and not more:
            break
        more -= bool(found)
    if found:
        return min(found, key=lambda plan: plan[0])
    raise _too_large(graph, Indices.of(graph, float_dtype), budget, failure)


@dataclass(slots=True)
class _Cut:
    """One way to cut a graph: the indices that are cut first, how often each is halved, the largest node allowed."""

    first: tuple[Axis, ...]
    indices: Indices
    limit: int
    blamed: bool = False
    tried: bool = False

    def blame(self, graph: CoreGraph, error: NoRoomError) -> None:
        """The next cut makes the nodes smaller for which a plan of `graph`, which is in pieces, found no room."""
        names = {graph.parts.get(name, name) for name in (*error.nodes, *error.tensors)}
        nodes = [node for node in self.indices.graph.nodes if names & {node.name, *node.inputs, *node.outputs}]
        for node in nodes:
            if self.indices.options(node):
                self.indices.limits[node.name] = self.indices.load(node) - 1
                self.blamed = True

    def smaller(self, room: int) -> None:
        """Cut further: what was blamed, or else everything."""
        if not self.blamed:
            self.limit = min(self.limit - 1, room) if self.limit > room or not self.tried else self.limit // 2
        self.blamed, self.tried = False, True
        self.indices.cut(self.limit, self.first)


def _generations(
    graph: CoreGraph, indices: Indices, room: int, whole: frozenset[str]
) -> Iterator[Sequence[tuple[_Cut, CoreGraph]]]:
    """The graph itself if its largest node may fit; then graphs with ever smaller nodes, cut in different ways."""
    largest = _largest(graph, indices)
    cuts = [_Cut(first, replace(indices, halvings={}, limits={}), largest) for first in _preferences(graph, indices)]
    if largest <= room:
        yield [(cuts[0], graph)]
    seen: list[dict[Axis, int]] = [{}]
    while cuts:
        generation: list[tuple[_Cut, CoreGraph]] = []
        for cut in list(cuts):
            cut.smaller(room)
            if cut.limit < VECTOR:
                cuts.remove(cut)
            elif cut.indices.halvings not in seen:
                seen.append(dict(cut.indices.halvings))
                candidate = sliced(graph, cut.indices, whole)
                if len(candidate.nodes) > MOST_NODES:
                    cuts.remove(cut)
                else:
                    generation.append((cut, candidate))
        yield generation


def _largest(graph: CoreGraph, indices: Indices) -> int:
    """Long words per PE that the largest node needs."""
    return max(map(indices.load, graph.nodes), default=0)


def _preferences(graph: CoreGraph, indices: Indices) -> list[tuple[Axis, ...]]:
    """Which indices are cut first: none in particular, then all choices of one or two of the largest node."""
    if len(graph.nodes) > FEW_NODES:
        return [()]
    node = max(graph.nodes, key=indices.load)
    found = sorted(indices.options(node), key=lambda index: (-indices.length(index), index))[:MOST_AXES]
    return [(), *((index,) for index in found), *combinations(found, 2)]


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
        hint=HINT,
    )


def _cuttable(indices: Indices, node: MNNode) -> str:
    labels = indices.labelled(node)
    if not labels:
        return "cannot be cut into pieces"
    return f"does not fit in pieces along axes of lengths {', '.join(str(indices.length(i)) for i in labels.values())}"
