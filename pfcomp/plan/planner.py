"""The planner: from the compiled ONNX graph to a schedule, in the order of design.md 6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import DType, Location, MNGraph, MNNode, MNValue
from pfcomp.layout import Layout
from pfcomp.layout.image import ImageSpec
from pfcomp.options import Options
from pfcomp.plan import dram
from pfcomp.plan.address import LM_SIZE
from pfcomp.plan.axes import AxisTable, layout_of
from pfcomp.plan.components import Component, find_components
from pfcomp.plan.fuse import fuse
from pfcomp.plan.layouts import Demand, axis_sizes, choose_table
from pfcomp.plan.model import Region, Schedule
from pfcomp.plan.region import LOCAL, PlannedRegion, RegionInput, plan_region
from pfcomp.plan.source_graph import SourceGraph

BITS = 32


@dataclass(frozen=True, slots=True)
class _Roles:
    """Which tensors are immediates, and which constants lie in DRAM."""

    immediates: dict[str, int]
    constants: tuple[str, ...]


def plan(source: SourceGraph, options: Options) -> Schedule:
    """Plan a whole graph. Raises UnsupportedError PF0404, PF0406, PF0407 for what does not fit or cannot be met."""
    _check_precision(options)
    _check_names(source)
    roles = _roles(source)
    forced = forced_layouts(options.mapping("io_layouts"), source)
    budget = int(LM_SIZE * options.real("sram_budget"))
    regions: list[Region] = []
    local: list[MNValue] = []
    moved: dict[str, MNValue] = {}
    for component in find_components(source.nodes, roles.immediates):
        table, planned = _plan_component(component, source, roles, forced, options, budget)
        regions.append(planned.region)
        shapes = {name: source.tensors[name].shape for name in component.tensors}
        moved.update((name, _dram_value(name, shapes[name], layout_of(shapes[name], table))) for name in shapes)
        local += _local_values(planned, moved)
    return Schedule(_graph(source, roles, regions, moved, local), tuple(regions))


def _check_precision(options: Options) -> None:
    wanted = options.text("float_dtype")
    if wanted not in ("float", "mixed"):
        raise UnsupportedError(
            "PF0407",
            f"float_dtype {wanted!r} has no element-wise kernels",
            hint='use "float" or "mixed"',
        )


def _check_names(source: SourceGraph) -> None:
    reserved = [name for name in source.tensors if name.endswith(LOCAL)]
    if reserved:
        raise UnsupportedError("PF0409", f"names may not end with {LOCAL}: {', '.join(reserved)}", hint="rename them")


def _roles(source: SourceGraph) -> _Roles:
    """Constants of one element go into the instruction stream, unless they are themselves an output."""
    small = {n: a for n, a in source.constants.items() if a.size == 1 and n not in source.outputs}
    immediates = {name: _bits(array) for name, array in small.items()}
    read = {name for node in source.nodes for name in node.inputs}
    kept = tuple(n for n in source.constants if n not in immediates and (n in read or n in source.outputs))
    lonely = [node for node in source.nodes if all(name in immediates for name in node.inputs)]
    if lonely:  # constant folding removes these; a model may still come without our passes
        first = {node.inputs[0] for node in lonely}
        immediates = {name: bits for name, bits in immediates.items() if name not in first}
        kept = tuple(n for n in source.constants if n in kept or n in first)
    return _Roles(immediates, kept)


def _bits(array: NDArray[np.float32]) -> int:
    return int(array.reshape(-1).view(np.uint32)[0])


def forced_layouts(constraints: Mapping[str, str], source: SourceGraph) -> dict[str, Layout]:
    """Layouts by name from `<layout>` or `<dtype>/<layout>`; raises UnsupportedError PF0406 for foreign names."""
    forced: dict[str, Layout] = {}
    for name, text in constraints.items():
        if name not in source.inputs and name not in source.outputs:
            known = ", ".join(source.inputs + source.outputs)
            raise UnsupportedError("PF0406", f"{name!r} is neither an input nor an output", hint=f"known: {known}")
        dtype, slash, layout = text.rpartition("/")
        if slash and dtype != DType.FLOAT:
            raise UnsupportedError("PF0406", f"{name} cannot be {dtype}: element-wise values are Float")
        forced[name] = Layout.parse(layout)
    return forced


def _plan_component(
    component: Component,
    source: SourceGraph,
    roles: _Roles,
    forced: Mapping[str, Layout],
    options: Options,
    budget: int,
) -> tuple[AxisTable, PlannedRegion]:
    shapes = {name: source.tensors[name].shape for name in component.tensors}
    loaded = tuple(n for n in shapes if n in source.inputs or n in roles.constants)
    stored = tuple(n for n in source.outputs if n in shapes and n not in source.inputs)
    here = {name: layout for name, layout in forced.items() if name in shapes}
    computed = tuple(node.outputs[0] for node in component.nodes)
    demand = Demand(shapes, loaded + stored, computed, here)
    table = choose_table(demand, options.text("layout_planner"))
    nodes: tuple[MNNode, ...] = component.nodes
    if options.text("scheduler") != "always_from_dram":
        nodes = fuse(nodes, shapes, frozenset(stored))
    return table, plan_region(RegionInput(nodes, shapes, loaded, stored), table, axis_sizes(demand), budget)


def _dram_value(name: str, shape: tuple[int, ...], layout: Layout) -> MNValue:
    spec = ImageSpec.of(layout, shape, BITS)
    return MNValue(name, shape, DType.FLOAT, layout, Location.DRAM, size=spec.group_words)


def _local_values(planned: PlannedRegion, moved: Mapping[str, MNValue]) -> list[MNValue]:
    values = []
    for name, at in planned.placements.items():
        whole = moved[name.removesuffix(LOCAL)]
        size = planned.sizes[name]
        values.append(MNValue(name, whole.shape, whole.dtype, whole.layout, at.location, at.address, size))
    return values


def _graph(
    source: SourceGraph,
    roles: _Roles,
    regions: list[Region],
    moved: Mapping[str, MNValue],
    local: list[MNValue],
) -> MNGraph:
    """Give DRAM addresses to inputs, outputs and constants and collect everything."""

    def value(name: str) -> MNValue:
        shape = source.tensors[name].shape
        return moved[name] if name in moved else _dram_value(name, shape, _lone_layout(shape))

    placed = dram.assign(map(value, source.inputs), map(value, source.outputs), map(value, roles.constants))
    values = {v.name: v for v in (*placed, *local)}
    nodes = tuple(node for region in regions for node in region.nodes)
    return MNGraph(values, nodes, source.inputs, source.outputs, roles.constants, tuple(roles.immediates.items()))


def _lone_layout(shape: tuple[int, ...]) -> Layout:
    """Layout of an input that no node reads: its form does not matter, but it must have one."""
    demand = Demand({"x": shape}, ("x",), (), {})
    return layout_of(shape, choose_table(demand, "lpz"))
