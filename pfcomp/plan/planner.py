"""The planner: from the compiled ONNX graph to a schedule, in the order of design.md 6."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pfcomp.errors import UnsupportedError
from pfcomp.ir.elements import pattern
from pfcomp.ir.model import LM_WORDS, DType, Location, MNGraph, MNNode, MNValue
from pfcomp.layout import Layout
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.options import Options
from pfcomp.plan import dram
from pfcomp.plan.axes import layout_of
from pfcomp.plan.components import Component, find_components
from pfcomp.plan.fuse import fuse
from pfcomp.plan.general import plan_general
from pfcomp.plan.layouts import Demand, axis_sizes, candidate_tables
from pfcomp.plan.lower.graph import DTYPES, device_dtypes
from pfcomp.plan.model import Region, Schedule
from pfcomp.plan.region import PlannedRegion, RegionInput, plan_region
from pfcomp.plan.source_graph import UPDATE, SourceGraph
from pfcomp.plan.switches import with_switches
from pfcomp.plan.tasks import LOCAL

BITS = 32


@dataclass(frozen=True, slots=True)
class _Roles:
    """Which tensors are immediates, and which constants lie in DRAM."""

    immediates: dict[str, int]
    constants: tuple[str, ...]


def plan(source: SourceGraph, options: Options) -> Schedule:
    """Plan a whole graph; as `plans`."""
    return plans(source, options, 1)[0]


def plans(source: SourceGraph, options: Options, most: int) -> Sequence[Schedule]:
    """Up to `most` plans of a whole graph, those first that are expected to be the cheapest.

    Raises UnsupportedError PF0404, PF0406, PF0409 for what cannot be done, UsageError PF0809 and PF0810 for files of
    forced layouts that do not suit the graph.
    """
    _check_names(source)
    dtypes = device_dtypes(options.text("float_dtype"))
    source = with_switches(source, options, dtypes)
    forced = forced_layouts(options.mapping("io_layouts"), source, dtypes)
    if not source.streams or dtypes != DTYPES:
        return plan_general(source, options, forced, most)
    planner = _Planner(source, options, _roles(source), forced)
    for component in find_components(source.nodes, planner.roles.immediates):
        planner.add(component)
    return [Schedule(planner.graph(), tuple(planner.regions))]


def _check_names(source: SourceGraph) -> None:
    reserved = [name for name in source.tensors if name.endswith(LOCAL)]
    if reserved:
        raise UnsupportedError("PF0409", f"names may not end with {LOCAL}: {', '.join(reserved)}", hint="rename them")


def _roles(source: SourceGraph) -> _Roles:
    """Constants of one element go into the instruction stream, unless they are themselves an output."""
    small = {n: a for n, a in source.constants.items() if a.size == 1 and n not in source.outputs}
    immediates = {name: pattern(array, DType.FLOAT) for name, array in small.items()}
    read = {name for node in source.nodes for name in node.inputs}
    kept = tuple(n for n in source.constants if n not in immediates and (n in read or n in source.outputs))
    lonely = [node for node in source.nodes if all(name in immediates for name in node.inputs)]
    if lonely:  # constant folding removes these; a model may still come without our passes
        first = {node.inputs[0] for node in lonely}
        immediates = {name: bits for name, bits in immediates.items() if name not in first}
        kept = tuple(n for n in source.constants if n in kept or n in first)
    return _Roles(immediates, kept)


def forced_layouts(
    constraints: Mapping[str, str], source: SourceGraph, dtypes: Mapping[str, DType] = DTYPES
) -> dict[str, Layout]:
    """Layouts by name from `<layout>` or `<dtype>/<layout>`; a state's next value gets the state's.

    Raises UnsupportedError PF0406 for foreign names.
    """
    forced: dict[str, Layout] = {}
    following = [f"{name}{UPDATE}" for name in source.states]
    known = [*source.inputs, *(name for name in source.outputs if name not in following), *source.states]
    for name, text in constraints.items():
        if name not in known:
            what = f"{name!r} is neither an input nor an output, nor a registered tensor of the function"
            raise UnsupportedError("PF0406", what, hint=f"known: {', '.join(known)}")
        dtype, slash, layout = text.rpartition("/")
        own = dtypes[source.tensors[name].element]
        if slash and dtype != own:
            raise UnsupportedError("PF0406", f"{name} cannot be {dtype}: on the device it is {own}")
        forced[name] = Layout.parse(layout)
    return forced | {f"{name}{UPDATE}": layout for name, layout in forced.items() if name in source.states}


@dataclass(slots=True)
class _Planner:
    """Plans component after component and collects regions and values."""

    source: SourceGraph
    options: Options
    roles: _Roles
    forced: Mapping[str, Layout]
    regions: list[Region] = field(default_factory=list)
    whole: dict[str, MNValue] = field(default_factory=dict)  # tensors as they would lie in DRAM
    local: list[MNValue] = field(default_factory=list)

    def add(self, component: Component) -> None:
        shapes = {name: self.source.tensors[name].shape for name in component.tensors}
        given = self.source.inputs + self.source.states
        loaded = tuple(n for n in shapes if n in given or n in self.roles.constants)
        stored = tuple(n for n in self.source.outputs if n in shapes and n not in given)
        here = {name: layout for name, layout in self.forced.items() if name in shapes}
        demand = Demand(shapes, loaded + stored, tuple(node.outputs[0] for node in component.nodes), here)
        nodes: tuple[MNNode, ...] = component.nodes
        if self.options.text("scheduler") != "always_from_dram":
            nodes = fuse(nodes, shapes, frozenset(stored))
        planned = self._fit(RegionInput(nodes, shapes, loaded, stored), demand)
        table = planned.region.table
        self.regions.append(planned.region)
        self.whole.update((n, _dram_value(n, shape, layout_of(shape, table))) for n, shape in shapes.items())
        self.local += self._local_values(planned)

    def _fit(self, region: RegionInput, demand: Demand) -> PlannedRegion:
        budget = int(LM_WORDS * self.options.real("sram_budget"))
        for table in candidate_tables(demand, self.options.text("layout_planner")):
            planned = plan_region(region, table, axis_sizes(demand), budget)
            if planned is not None:
                return planned
        raise UnsupportedError(
            "PF0404",
            f"{', '.join(region.loaded + region.stored)} do not fit into local memory at once, not even in slices",
            hint="split the function, or raise the option sram_budget",
        )

    def _local_values(self, planned: PlannedRegion) -> Iterator[MNValue]:
        for name, at in planned.placements.items():
            whole = self.whole[name.removesuffix(LOCAL)]
            size = planned.sizes[name]
            yield replace(whole, name=name, location=at.location, address=at.address, size=size)

    def graph(self) -> MNGraph:
        """Give DRAM addresses to inputs, outputs and constants and collect everything."""
        source, roles = self.source, self.roles
        groups = (source.inputs, source.outputs, source.states, roles.constants)
        placed = dram.assign(*(map(self._value, names) for names in groups))
        values = {v.name: v for v in (*placed, *self.local)}
        nodes = tuple(node for region in self.regions for node in region.nodes)
        immediates = tuple((name, DType.FLOAT, bits) for name, bits in roles.immediates.items())
        return MNGraph(
            values, nodes, source.inputs, source.outputs, roles.constants, immediates=immediates, states=source.states
        )

    def _value(self, name: str) -> MNValue:
        """A tensor in DRAM. The form of an input that no node reads does not matter, but it must have one.

        A state that is only written has the form of its next value, so that it need not be converted between calls.
        """
        if name in self.whole:
            return self.whole[name]
        if f"{name}{UPDATE}" in self.whole:
            return replace(self.whole[f"{name}{UPDATE}"], name=name)
        shape = self.source.tensors[name].shape
        table = candidate_tables(Demand({name: shape}, (name,), (), {}), "lpz")[0]
        return _dram_value(name, shape, layout_of(shape, table))


def _dram_value(name: str, shape: tuple[int, ...], layout: Layout) -> MNValue:
    spec = ImageSpec.of(layout, shape, BITS)
    return MNValue(name, shape, DType.FLOAT, layout, Location.DRAM, size=spec.group_words)
