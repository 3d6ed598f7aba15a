"""The ways in which a node can be computed, with operands and results in which layouts; input of the layout planner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from pfcomp.ir.model import LM_WORDS, MNNode
from pfcomp.kernels import elementwise, pointwise
from pfcomp.kernels.api import Binding, Spec
from pfcomp.kernels.fusion import steps_of
from pfcomp.kernels.registry import kernels
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.layout.share import shared
from pfcomp.layout.twin import twin
from pfcomp.plan.axes import layout_of
from pfcomp.plan.costs import fits
from pfcomp.plan.layouts import Demand, candidate_tables
from pfcomp.plan.lower.graph import REARRANGEMENTS, CoreGraph

USUAL = 3
"""How many of the layouts that suit loading and storing are tried where nothing else suggests one."""


def is_pointwise(node: MNNode) -> bool:
    """True for element-wise and fused nodes."""
    return node.op not in REARRANGEMENTS and node.op not in kernels()


def operands(node: MNNode) -> tuple[str, ...]:
    """What a way has layouts for: every operand of a kernel, each tensor once for element-wise nodes, none absent."""
    given = tuple(name for name in node.inputs if name)
    return tuple(dict.fromkeys(given)) if is_pointwise(node) else given


def immediates(graph: CoreGraph) -> frozenset[str]:
    """Constants of one element that only element-wise nodes read: they live in the instruction stream."""
    others = {name for node in graph.nodes if not is_pointwise(node) for name in node.inputs}
    small = {n for n, a in graph.constants.items() if a.size == 1 and n not in others and n not in graph.outputs}
    return frozenset(small)


def bindings(
    graph: CoreGraph,
    node: MNNode,
    offered: Mapping[str, Sequence[Layout]],
    float_dtype: str,
    wanted: Sequence[Layout] = (),
) -> list[Binding]:
    """All ways worth trying; `offered` has the layouts in which each operand that is no immediate exists.

    `wanted` has layouts in which results are demanded.
    """
    if not is_pointwise(node):
        kernel = kernels()[node.op]
        job = replace(graph.job(node, float_dtype), wanted=tuple(wanted))
        return list(kernel.bindings(job, [offered[name] for name in node.inputs]))
    specs = specs_of(node, graph.specs)
    forms = {canonical(form): form for form in pointwise.forms(node, specs, offered)}
    for form in _wanted_forms(node, specs, offered, wanted):
        forms.setdefault(canonical(form), form)
    shares = [shared(form, range(len(form.axes)), pairs=True) for form in forms.values()]
    for form in (*filter(None, shares), *usual_forms(_form_spec(node, specs, offered))):
        forms.setdefault(canonical(form), form)
    steps = vector_steps(node, specs)
    return [pointwise.binding(node, specs, form, offered, steps) for form in forms.values()]


def _wanted_forms(
    node: MNNode, specs: Mapping[str, Spec], offered: Mapping[str, Sequence[Layout]], wanted: Sequence[Layout]
) -> Sequence[Layout]:
    """Demanded layouts that are forms as they are: those of 32-bit results, and of 64-bit ones among their like."""
    result = specs[node.outputs[0]]
    wide = pointwise.is_wide([specs[name] for name in (*node.outputs, *offered)])
    return wanted if result.dtype.bits == 32 or wide else ()


def specs_of(node: MNNode, specs: Mapping[str, Spec]) -> dict[str, Spec]:
    """Specs of everything that a node or its body names."""
    names = [n for step in (node, *node.body) for n in (*step.inputs, *step.outputs)]
    return {name: specs[name] for name in names}


def _form_spec(node: MNNode, specs: Mapping[str, Spec], offered: Mapping[str, Sequence[Layout]]) -> Spec:
    """The result, as 32-bit unless everything has 64."""
    result = [specs[name] for name in node.outputs]
    if pointwise.is_wide([*result, *(specs[name] for name in offered)]):
        return result[0]
    narrow = [s for s in (*result, *(specs[n] for n in offered)) if s.dtype.bits == 32]
    return Spec(result[0].shape, narrow[0].dtype)


def vector_steps(node: MNNode, specs: Mapping[str, Spec]) -> int:
    """Steps for eight elements per PE: the busier of MAU and ALU."""
    mau = alu = 0
    for step in steps_of(node, {name: spec.dtype for name, spec in specs.items()}):
        used = elementwise.cost(step.op, [specs[n].dtype for n in step.inputs], specs[step.outputs[0]].dtype)
        mau, alu = mau + used[0], alu + used[1]
    return max(mau, alu, 1)


@lru_cache(maxsize=4096)
def usual_forms(spec: Spec, room: int = LM_WORDS) -> tuple[Layout, ...]:
    """Layouts that suit loading, storing and element-wise work, best first; those that fit if any does.

    `room` is in long words of one memory.
    """
    found = all_forms(spec)
    return tuple(layout for layout in found if fits(spec, layout, room))[:USUAL] or found[:USUAL]


@lru_cache(maxsize=4096)
def all_forms(spec: Spec) -> tuple[Layout, ...]:
    """As `usual_forms`, without the limit on their number."""
    demand = Demand({"x": spec.shape}, ("x",), ("x",), {})
    found: dict[Layout, Layout] = {}
    for table in candidate_tables(demand, "lpz"):
        layout = layout_of(spec.shape, table)
        layout = twin(layout) if spec.dtype.bits == 64 else layout
        found.setdefault(canonical(layout), layout)
    return tuple(found.values())
