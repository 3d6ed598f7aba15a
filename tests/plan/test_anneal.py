"""Annealing: searches under pins, plans that get better and that mean the same."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from pfcomp.artifacts import read_zst
from pfcomp.plan.anneal import CHAIN, Annealing, Pins, Trace
from pfcomp.plan.beam import Planner
from pfcomp.plan.choices import Compute
from pfcomp.plan.lower.graph import REARRANGEMENTS
from pfcomp.plan.no_room import NoRoomError
from pfcomp.plan.rounds import annealed, plans
from pfcomp.plan.states import State, way_of
from pfcomp.stages.schedule import SCHEDULE
from tests.plan.test_beam import graph_of
from tests.programs.random_graphs import compare, random_graph

WAYS, NODES = 3, 5


class Puzzle:
    """Nodes whose ways cost what a table says of every two neighbours; a search follows the cheapest next way."""

    def __init__(self, seed: int) -> None:
        self.costs = np.random.default_rng(seed).integers(1, 100, (NODES, WAYS, WAYS))
        self.ways = [[str(way) for way in range(WAYS)] for _ in range(NODES)]
        self.forbidden: set[tuple[int, ...]] = set()

    def cost(self, path: tuple[int, ...]) -> int:
        return int(
            sum(self.costs[k][before][way] for k, (before, way) in enumerate(zip((0, *path), path, strict=False)))
        )

    def search(self, known: Trace, pins: Pins) -> tuple[State, Trace]:
        """States are told apart by their steps alone; those of a trace before a node only depend on earlier pins."""
        path: tuple[int, ...] = ()
        trace: Trace = [[State(0, {}, {}, {})]]
        for k in range(NODES):
            options = [int(pins[k])] if k in pins else list(range(WAYS))
            path = (*path, min(options, key=lambda way: self.cost((*path, way))))
            if path[-2:] in self.forbidden:
                raise NoRoomError("PF0421", "these two do not go together")
            trace.append([State(self.cost(path), {}, {}, {})])
        assert [[s.steps for s in states] for states in known] == [[s.steps for s in t] for t in trace[: len(known)]]
        return trace[-1][0], trace

    @staticmethod
    def price(actions: object, steps: int) -> tuple[int, bool]:
        return steps, False

    @property
    def best(self) -> int:
        return min(self.cost(path) for path in itertools.product(range(WAYS), repeat=NODES))


def test_the_best_of_most_small_puzzles_is_found() -> None:
    solved = 0
    for seed in range(20):
        puzzle = Puzzle(seed)
        greedy = puzzle.search([], {})[0].steps
        found = [steps for steps, _ in Annealing(puzzle.search, puzzle.price, puzzle.ways, 2 * CHAIN).run(greedy)]
        assert found == sorted({*found} - {greedy}, reverse=True)
        assert puzzle.best <= min([greedy, *found]) <= greedy
        solved += min([greedy, *found]) == puzzle.best
    assert solved >= 15


def test_searches_that_end_nowhere_are_left_out() -> None:
    puzzle = Puzzle(3)
    greedy, _ = puzzle.search([], {})
    puzzle.forbidden = {(0, 1), (1, 2), (2, 0)}
    found = Annealing(puzzle.search, puzzle.price, puzzle.ways, CHAIN).run(greedy.steps)
    assert all(steps < greedy.steps for steps, _ in found)
    puzzle.forbidden = {(first, second) for first in range(WAYS) for second in range(WAYS)}
    assert Annealing(puzzle.search, puzzle.price, puzzle.ways, CHAIN).run(greedy.steps) == []


def test_a_graph_without_nodes_has_nothing_to_anneal() -> None:
    puzzle = Puzzle(0)
    assert Annealing(puzzle.search, puzzle.price, [], CHAIN).run(9) == []


def test_what_ends_nowhere_once_more_is_known_is_left_out() -> None:
    puzzle = Puzzle(3)
    priced: list[int] = []

    def price(actions: object, steps: int) -> tuple[int, bool]:
        priced.append(steps)
        if len(priced) == 2:
            puzzle.forbidden = {(first, second) for first in range(WAYS) for second in range(WAYS)}
        return steps, True

    begun = puzzle.search([], {})[0].steps
    found = Annealing(puzzle.search, price, puzzle.ways, CHAIN).run(begun)
    assert all(steps < begun for steps, _ in found)
    assert len(priced) == 2


def test_a_plan_without_choices_stays() -> None:
    puzzle = Puzzle(0)
    puzzle.ways = [["0"] for _ in range(NODES)]
    begun = puzzle.search([], dict.fromkeys(range(NODES), "0"))[0].steps
    assert all(steps >= begun for steps, _ in Annealing(puzzle.search, puzzle.price, puzzle.ways, 40).run(begun)[1:])


def test_pins_are_followed() -> None:
    graph = graph_of("attention")
    planner = Planner(graph, {}, "float", 8)
    plans(planner)
    position = next(k for k, ways in enumerate(planner.met) if len(ways) > 1)
    for way in planner.met[position]:
        state = planner.search([], {position: way}, 8)[0]
        assert way_of(state, graph.nodes[position]) == way


def test_annealed_plans_are_cheaper_and_complete() -> None:
    graph = graph_of("attention")
    planner = Planner(graph, {}, "float", 1)
    steps = plans(planner)[0][0]
    found = annealed(planner, 60, steps)
    assert found
    assert [plan[0] for plan in found] == sorted({plan[0] for plan in found})
    assert found[-1][0] < steps
    kernels = [node.name for node in graph.nodes if node.op not in REARRANGEMENTS]
    for _, actions in found:
        assert [action.node.name for action in actions if isinstance(action, Compute)] == kernels


@pytest.mark.parametrize("seed", [1, 4, 7])
def test_annealed_programs_are_right_never_longer_and_always_the_same(seed: int, tmp_path: Path) -> None:
    graph = random_graph(seed)
    options = {"layout_planner": "anneal", "sa_steps": 30, "simulation_mode": "best"}
    folders = [tmp_path / name for name in ("plain", "annealed", "again")]
    for folder in folders:
        folder.mkdir()
    plain = compare(graph, folders[0])
    annealed, again = (compare(graph, folder, options=options) for folder in folders[1:])
    assert annealed == again <= plain
    assert read_zst(folders[1] / SCHEDULE) == read_zst(folders[2] / SCHEDULE)
