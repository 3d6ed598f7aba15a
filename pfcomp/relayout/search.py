"""Which moves turn the places of one layout into those of another: A* over places, cheapest steps first.

Ties are broken by the order in which actions are proposed, so the result does not depend on anything but the problem.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

from pfcomp.ir.model import LM_WORDS
from pfcomp.relayout.moves.actions import State
from pfcomp.relayout.moves.copying import Copy
from pfcomp.relayout.moves.model import Move, Places, Universe, count
from pfcomp.relayout.moves.problem import Problem

MAX_EXPANSIONS = 80
HASTE = (2, 16)
"""Weights of the steps that remain: in a first search, and in a second one, which goes for any plan."""
MAX_IMPROVING = 20
"""Expansions after some plan is known."""


@dataclass(frozen=True, slots=True)
class _Node:
    cost: int
    places: Places
    path: tuple[Move, ...]


def search(problem: Problem) -> tuple[Move, ...] | None:
    """The cheapest moves found that reach the goal, in a hurry if they are far; None if none are within the limits."""
    if State(problem, problem.start).done:
        return ()
    for haste in HASTE:
        found = _search(problem, haste)
        if found is not None:
            return found
    return None


def _search(problem: Problem, haste: int) -> tuple[Move, ...] | None:
    queue: list[tuple[int, int, int, _Node]] = [(0, 0, 0, _Node(0, problem.start, ()))]
    best = {problem.start: 0}
    found: _Node | None = None
    serial = expansions = 0
    limit = MAX_EXPANSIONS
    while queue and expansions < limit:
        *_, node = heapq.heappop(queue)
        if node.cost > best[node.places] or (found is not None and node.cost >= found.cost):
            continue
        state = State(problem, node.places)
        expansions += 1
        for move in state.actions():
            cost = node.cost + move.steps
            known = best.get(move.after)
            if (known is None or cost < known) and _fits(problem.universe, move.after):
                best[move.after] = cost
                serial += 1
                entry = _Node(cost, move.after, (*node.path, move))
                after = State(problem, move.after)
                if after.done:
                    if found is None or cost < found.cost:
                        limit = limit if found else min(limit, expansions + MAX_IMPROVING)
                        found = entry
                elif found is None or cost < found.cost:
                    heapq.heappush(queue, (cost + haste * after.remaining(), len(entry.path), serial, entry))
    return None if found is None else found.path


def _fits(universe: Universe, places: Places) -> bool:
    return count(universe, universe.address_items(places)) <= LM_WORDS


def finished(problem: Problem, moves: tuple[Move, ...]) -> tuple[Move, ...]:
    """The moves, with a copy at the end where the last one cannot write into the target itself."""
    if moves and moves[-1].exact:
        return moves
    places = moves[-1].after if moves else problem.start
    return (*moves, Copy(problem.universe, places, _paired(problem, places, fresh=bool(moves))))


def _paired(problem: Problem, places: Places, *, fresh: bool) -> bool:
    """True if neighbouring long words stay neighbours; those of a `fresh` scratch can be arranged so."""
    rows = zip(problem.universe.sizes, problem.source_strides, problem.target_strides, strict=True)
    address = problem.universe.address_items(places)
    first = [size % 2 == 0 and after == 1 and (fresh or before == 1) for size, before, after in rows]
    others = [
        all(stride % 2 == 0 for stride in (problem.target_strides[i], 0 if fresh else problem.source_strides[i]))
        for i in address
        if not first[i]
    ]
    return any(first[i] for i in address) and all(others)
