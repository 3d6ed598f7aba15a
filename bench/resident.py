"""Steps of a function whose operands lie in local memory and whose results stay there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import torch

from pfcomp.ir.model import LM_WORDS, Location, MNGraph, MNNode, MNValue
from pfcomp.isa.pack import Builder, Stats, pack
from pfcomp.kernels.api import Binding, KernelContext, Spec
from pfcomp.layout import Layout, Level
from pfcomp.layout.extents import extent
from pfcomp.options import Options, resolve
from pfcomp.plan import ways
from pfcomp.plan.axes import layout_of
from pfcomp.plan.emit import TaskEmitter
from pfcomp.plan.general import fuse_pointwise, plan_general, precision
from pfcomp.plan.layouts import Demand, candidate_tables
from pfcomp.plan.lower.build import Borders, build
from pfcomp.plan.lower.graph import REARRANGEMENTS, CoreGraph
from pfcomp.plan.source_graph import SourceGraph
from pfcomp.plan.tasks import Task
from pfcomp.stages.pipeline import compile_function
from pfcomp.stages.schedule import load_source

Tensors = dict[str, torch.Tensor]
Function = Callable[[Tensors], Tensors]

LMS = (Location.LM0, Location.LM1)
TRANSFERS = ("Download", "Upload")
TRIED = 16
"""Ways that are packed, the ones with the lowest estimates; the best of them counts."""


@dataclass(frozen=True)
class Resident:
    """A function as the planner sees it, with the options to plan it."""

    source: SourceGraph
    options: Options

    @staticmethod
    def of(function: Function, sample: Tensors, options: Mapping[str, object]) -> Resident:
        """Trace a function and run the passes."""
        with tempfile.TemporaryDirectory() as folder:
            compile_function(function, sample, Path(folder), options, stop="onnx")
            return Resident(load_source(Path(folder)), resolve(options))

    def planned(self, layouts: Mapping[str, Layout]) -> Stats:
        """Operands and results in given layouts: all that the planner puts between them, moves included.

        Constants are there already, like operands.
        """
        schedule = plan_general(self.source, self.options, layouts)[0]
        work = [task for task in schedule.tasks if task.node.op not in TRANSFERS]
        return _packed(schedule.graph, work, schedule.float_dtype)

    def best(self) -> tuple[Binding, Stats]:
        """The best way if the single node of the function may choose all layouts and memories."""
        graph = self._core()
        (node,) = (node for node in graph.nodes if node.op not in REARRANGEMENTS)
        around = plan_general(self.source, self.options, {})[0].graph
        found = [
            (binding, _packed(*placed, precision(self.options)))
            for binding in self._ways(graph, node)
            for placed in _placements(graph, node, binding, around)
        ]
        return min(found, key=lambda pair: pair[1].steps)

    def _core(self) -> CoreGraph:
        source = self.source
        borders = Borders(source.inputs, source.states, source.outputs)
        graph = build(source.nodes, tuple(source.tensors.values()), source.constants, borders)
        graph.nodes = fuse_pointwise(graph)
        return graph

    def _ways(self, graph: CoreGraph, node: MNNode) -> list[Binding]:
        """The kernel's own proposals, and those for operands spread over the chip in all usual manners."""
        names = [name for name in ways.operands(node) if name not in ways.immediates(graph)]
        offers: list[dict[str, Sequence[Layout]]] = [dict.fromkeys(names, ())]
        if ways.is_pointwise(node) or len(names) == 1:
            shape = graph.specs[node.outputs[0]].shape if len(names) > 1 else graph.specs[names[0]].shape
            spread = [
                layout_of(shape, table) for table in candidate_tables(Demand({"x": shape}, (), ("x",), {}), "lpz")
            ]
            offers.append({name: spread if graph.specs[name].shape == shape else () for name in names})
        found = [b for offered in offers for b in ways.bindings(graph, node, offered, precision(self.options))]
        return sorted(found, key=lambda binding: binding.steps)[:TRIED]


def _placements(
    graph: CoreGraph, node: MNNode, binding: Binding, around: MNGraph
) -> Iterator[tuple[MNGraph, Sequence[Task]]]:
    """The node's values in all combinations of local memories."""
    operands = [name for name in ways.operands(node) if name not in ways.immediates(graph)]
    layouts = dict(zip([*operands, *node.outputs], [*binding.inputs, *binding.outputs], strict=True))
    for places in product(LMS, repeat=len(layouts)):
        free = dict.fromkeys(LMS, 0)
        values = {}
        for (name, layout), place in zip(layouts.items(), places, strict=True):
            values[name] = _value(name, graph.specs[name], layout, place, free[place])
            free[place] += values[name].size
        if max(free.values()) <= LM_WORDS and not (binding.scratch or binding.tables):
            yield replace(around, values=values, nodes=(node,)), [Task(node, binding.variant)]


def _value(name: str, spec: Spec, layout: Layout, place: Location, address: int) -> MNValue:
    size = -(-extent(layout, Level.ADDR) // 4) * 4
    return MNValue(name, spec.shape, spec.dtype, layout, place, address, size)


def _packed(graph: MNGraph, tasks: Sequence[Task], float_dtype: str) -> Stats:
    context = KernelContext(Builder())
    emitter = TaskEmitter(graph, context, float_dtype)
    for task in tasks:
        emitter.emit(task)
    return pack(context.builder.finish()).stats
