"""Plans of the layout planner are possible, whatever they cost, and what is named after them fits together."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import onnx
import onnx_ir
import pytest

from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.plan import ways
from pfcomp.plan.beam import Planner
from pfcomp.plan.choices import Action, Compute, Load, Rearrange, Relay, Rename, Store
from pfcomp.plan.general import fuse_pointwise
from pfcomp.plan.linear import linearise
from pfcomp.plan.lower.build import Borders, build
from pfcomp.plan.lower.graph import CoreGraph
from pfcomp.plan.rounds import plans
from pfcomp.plan.source_graph import read_model
from tests.programs.general import Case, Node, model
from tests.programs.test_general import CASES

NAMES = ("chain", "concat", "split", "layer normalisation", "attention", "correct answers", "embedding")


def graph_of(name: str) -> CoreGraph:
    return core(CASES[name])


def core(case: Case) -> CoreGraph:
    proto = onnx.load_from_string(model(case.nodes, case.inputs, case.outputs, case.constants))
    source = read_model(onnx_ir.serde.deserialize_model(proto))
    borders = Borders(source.inputs, source.states, source.outputs)
    graph = build(source.nodes, tuple(source.tensors.values()), source.constants, borders)
    graph.nodes = fuse_pointwise(graph)
    return graph


@lru_cache
def planned(name: str, width: int = 8) -> tuple[CoreGraph, tuple[Action, ...]]:
    graph = graph_of(name)
    return graph, tuple(plans(Planner(graph, {}, "float", width))[0][1])


class Copies:
    """Which tensors exist in which layouts."""

    def __init__(self) -> None:
        self.there: set[tuple[str, Layout]] = set()

    def make(self, tensor: str, layout: Layout) -> None:
        self.there.add((tensor, canonical(layout)))

    def check(self, tensor: str, layout: Layout) -> None:
        assert (tensor, canonical(layout)) in self.there


def replay(actions: tuple[Action, ...]) -> tuple[list[str], list[str]]:
    """The jobs that ran and the tensors that were stored; fails where an operand does not exist as it is wanted."""
    copies, ran, stored = Copies(), [], []
    for action in actions:
        if isinstance(action, Load):
            copies.make(action.tensor, action.layout)
        elif isinstance(action, Relay):
            copies.check(action.tensor, action.source)
            copies.make(action.tensor, action.target)
        elif isinstance(action, Rename):
            copies.check(action.node.inputs[0], action.source)
            copies.make(action.node.outputs[0], action.target)
            ran.append(action.node.name)
        elif isinstance(action, Store):
            copies.check(action.tensor, action.layout)
            stored.append(action.tensor)
        else:
            _compute(action, copies)
            ran.append(action.node.name)
    return ran, stored


def _compute(action: Compute | Rearrange, copies: Copies) -> None:
    moved = isinstance(action, Rearrange)
    operands = action.node.inputs if isinstance(action, Rearrange) else action.operands
    sources = action.sources if isinstance(action, Rearrange) else action.binding.inputs
    results = (action.target,) if isinstance(action, Rearrange) else action.binding.outputs
    for tensor, layout in zip(operands, sources, strict=True):
        copies.check(tensor, layout)
    for tensor, layout in zip(action.node.outputs, results, strict=not moved):
        copies.make(tensor, layout)


@pytest.mark.parametrize("width", [1, 8])
@pytest.mark.parametrize("name", NAMES)
def test_every_operand_exists_where_a_job_wants_it(name: str, width: int) -> None:
    graph, actions = planned(name, width)
    ran, stored = replay(actions)
    assert set(ran) == {node.name for node in graph.nodes}
    assert sorted(stored) == sorted(graph.outputs)


@pytest.mark.parametrize("name", NAMES)
def test_values_lie_inside_their_places(name: str) -> None:
    graph, actions = planned(name)
    linear = linearise(graph, actions, ways.immediates(graph))
    assert list(linear.home) == list(dict.fromkeys(linear.home))
    for value, (place, offset) in linear.home.items():
        words = linear.places[place].words
        if value in linear.values:
            assert 0 <= offset <= words - extent(linear.values[value].layout, Level.ADDR)


@pytest.mark.parametrize("name", NAMES)
def test_items_read_what_was_written_before(name: str) -> None:
    graph, actions = planned(name)
    linear = linearise(graph, actions, ways.immediates(graph))
    written = {*graph.inputs, *graph.states, *graph.constants, *linear.tables}
    for item in linear.items:
        homes = {linear.home[n][0] if n in linear.home else n for n in (*item.node.inputs, *item.tables)}
        assert homes <= written, item.node
        written |= {linear.home[n][0] if n in linear.home else n for n in (*item.node.outputs, *item.scratch)}


def test_a_transposition_costs_nothing() -> None:
    _, actions = planned("transpose")
    assert [type(a) for a in actions if not isinstance(a, Load | Store)] == [Rename, Compute]


def test_a_product_adds_up_over_l2bs_what_the_one_before_left_there() -> None:
    """Hidden units stay in their L2Bs: moving them to where rows of the batch are L2Bs takes ten times as long."""
    shapes = {"x": (64, 1024), "v": (1024, 256), "w": (256, 10)}
    inputs = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    nodes = (Node("MatMul", "xv", "a"), Node("Relu", "a", "b"), Node("MatMul", "bw", "y"))
    planner = Planner(core(Case(nodes, inputs, {"y": onnx.TensorProto.FLOAT})), {}, "mixed", 8)
    moved = [action for action in plans(planner)[0][1] if isinstance(action, Relay)]
    assert sum(planner.moving.relays.steps(planner.graph.specs[a.tensor], a.source, a.target) for a in moved) <= 40
