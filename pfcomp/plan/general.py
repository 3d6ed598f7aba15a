"""Plans any graph: lowering, fusion, pieces of what is too large, layouts, values, addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from pfcomp.errors import UnsupportedError
from pfcomp.ir.element_types import ELEMENT_TYPES
from pfcomp.ir.elements import pattern
from pfcomp.ir.model import LM_WORDS, DType, Location, MNGraph, MNNode, MNValue
from pfcomp.layout import Layout
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.options import Options
from pfcomp.plan import dram, ways
from pfcomp.plan.anneal import Found
from pfcomp.plan.beam import Planner
from pfcomp.plan.fuse import fuse
from pfcomp.plan.linear import Linear, linearise
from pfcomp.plan.lower.attempts import in_pieces
from pfcomp.plan.lower.build import Borders, build, job_refusal
from pfcomp.plan.lower.graph import CoreGraph, device_dtypes
from pfcomp.plan.memory import Placement, allocate
from pfcomp.plan.memory_steps import placing_steps
from pfcomp.plan.model import Schedule
from pfcomp.plan.no_room import NoRoomError
from pfcomp.plan.replay import verify_places
from pfcomp.plan.rounds import annealed, plans
from pfcomp.plan.source_graph import UPDATE, Offender, SourceGraph, describe

WIDTH = {"canonical": 1}
"""Beam width by the option layout_planner; others have DEFAULT_WIDTH."""
DEFAULT_WIDTH = 16


@dataclass(frozen=True, slots=True)
class _Attempt:
    """A graph, perhaps in pieces, what its planner found, and a schedule of the cheapest plan."""

    graph: CoreGraph
    planner: Planner
    plans: list[Found]
    schedule: Schedule


def plan_general(
    source: SourceGraph, options: Options, forced: Mapping[str, Layout], most: int = 1
) -> Sequence[Schedule]:
    """Up to `most` plans of a graph as tasks, those first that are expected to be the cheapest.

    Raises UnsupportedError PF0421 and PF0422 where local memory does not suffice.
    """
    float_dtype = precision(options)
    borders = Borders(source.inputs, source.states, source.outputs)
    dtypes = device_dtypes(options.text("float_dtype"))
    graph = build(source.nodes, tuple(source.tensors.values()), source.constants, borders, dtypes)
    _refuse(graph)
    if options.text("scheduler") != "always_from_dram":
        graph.nodes = fuse_pointwise(graph)
    choice = options.text("layout_planner")
    width = WIDTH.get(choice, DEFAULT_WIDTH)
    annealing = options.integer("sa_steps") if choice == "anneal" else 0
    budget = int(LM_WORDS * options.real("sram_budget"))

    def placed(graph: CoreGraph, plan: Found) -> tuple[int, Schedule]:
        steps, actions = plan
        linear = linearise(graph, actions, ways.immediates(graph), budget)
        placement = allocate(linear, budget)
        verify_places(linear, placement, budget)
        schedule = _schedule(source, graph, linear, placement, float_dtype)
        return steps + placing_steps(linear, schedule.tasks, schedule.graph), schedule

    def attempt(graph: CoreGraph) -> tuple[int, _Attempt]:
        planner = Planner(graph, forced, float_dtype, width, budget)
        found = plans(planner)
        steps, schedule = placed(graph, found[0])
        return steps, _Attempt(graph, planner, found, schedule)

    steps, best = in_pieces(graph, budget, float_dtype, frozenset(forced), attempt)
    found = [(steps, best.schedule)]
    first, *others = best.plans
    better = annealed(best.planner, annealing, first[0])
    for plan in [*better[: max(1, most - 1)], first, *others][:most]:
        if plan is not first:
            with suppress(NoRoomError):  # the first plan has room
                found.append(placed(best.graph, plan))
    return [schedule for _, schedule in sorted(found, key=lambda plan: plan[0])][:most]


def _refuse(graph: CoreGraph) -> None:
    """PF0401 for jobs that have no kernel in the element types that the options ask for."""
    found = [Offender(n.op, n.name, reason, n.source) for n in graph.nodes if (reason := job_refusal(graph, n))]
    if found:
        raise UnsupportedError("PF0401", describe(tuple(found)), hint='use float_dtype "float" or "mixed"')


def precision(options: Options) -> str:
    """The `float_dtype` of jobs (`pfcomp.kernels.api`)."""
    asked = options.text("float_dtype")
    return "pseudo" if asked == "float" and options.flag("allow_g") else asked


def fuse_pointwise(graph: CoreGraph) -> list[MNNode]:
    """Fuse element-wise nodes; all others stay as they are and keep their order."""
    shapes = {name: spec.shape for name, spec in graph.specs.items()}
    return list(fuse(tuple(graph.nodes), shapes, frozenset(graph.outputs), ways.is_pointwise))


def _schedule(
    source: SourceGraph, graph: CoreGraph, linear: Linear, placement: Placement, float_dtype: str
) -> Schedule:
    """Addresses in DRAM for everything that is loaded or stored there."""
    contents = {name: table.contents for name, table in linear.tables.items()}
    made = {n: a for n, a in graph.constants.items() if n not in source.constants and n in linear.images}
    spills = {name: replace(value, name=name) for name, (value, _) in placement.spilled.items()}
    constants = [n for n in graph.constants if n in linear.images] + list(linear.tables)
    groups = (source.inputs, source.outputs, source.states, constants)
    first, second, third, fourth = ([_in_dram(n, graph, linear, source) for n in names] for names in groups)
    aside = [_stored(value) for value in spills.values()]
    placed = dram.assign(first, [*second, *aside], third, fourth)
    values = {v.name: v for v in (*placed, *placement.values.values())}
    zeros = {n: np.zeros((4, values[n].size), np.uint64) for n in spills}
    names = (*constants, *spills)
    nodes = tuple(task.node for task in placement.tasks)
    inner = _inner(graph)
    mn = MNGraph(values, nodes, source.inputs, source.outputs, names, _immediates(graph), source.states, inner)
    return Schedule(mn, (), tuple(placement.tasks), {**contents, **made, **zeros}, float_dtype)


def _in_dram(name: str, graph: CoreGraph, linear: Linear, source: SourceGraph) -> MNValue:
    """A tensor in DRAM. The form of an input that no node reads does not matter, but it must have one.

    A state that is only written has the form of its next value, so that it need not be converted between calls.
    """
    spec = graph.specs[name]
    layout = linear.images.get(name) or linear.images.get(f"{name}{UPDATE}") or ways.usual_forms(spec)[0]
    known = source.tensors.get(name)
    host = ELEMENT_TYPES[known.element].host if known is not None else spec.dtype.value
    return _stored(MNValue(name, spec.shape, spec.dtype, layout, Location.DRAM, torch_dtype=host))


def _stored(value: MNValue) -> MNValue:
    image = ImageSpec.of(value.layout, value.shape, value.dtype.bits)
    return replace(value, location=Location.DRAM, address=None, size=image.group_words)


def _immediates(graph: CoreGraph) -> tuple[tuple[str, DType, int], ...]:
    dtypes = {name: graph.specs[name].dtype for name in sorted(ways.immediates(graph))}
    return tuple((name, dtype, pattern(graph.constants[name], dtype)) for name, dtype in dtypes.items())


def _inner(graph: CoreGraph) -> tuple[tuple[str, DType], ...]:
    """Element types of what exists only inside fused bodies."""
    names = {n for node in graph.nodes for step in node.body for n in (*step.inputs, *step.outputs)}
    return tuple((name, graph.specs[name].dtype) for name in sorted(names))
