"""The graph of jobs of a whole model, and why a node has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels import pointwise
from pfcomp.kernels.api import Spec
from pfcomp.kernels.registry import kernels
from pfcomp.plan.lower.graph import DTYPES, REARRANGEMENTS, Array, CoreGraph, Lowering, UnknownError
from pfcomp.plan.lower.rules import apply


class _Tensor(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def element(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Borders:
    """Names of a model's inputs, states and outputs."""

    inputs: tuple[str, ...]
    states: tuple[str, ...]
    outputs: tuple[str, ...]


def build(
    nodes: Iterable[MNNode],
    tensors: Sequence[_Tensor],
    constants: Mapping[str, Array],
    borders: Borders,
    dtypes: Mapping[str, DType] = DTYPES,
) -> CoreGraph:
    """Lower all nodes; every one of them must be one that `refusal` has nothing against.

    `dtypes` has the device's element type for each of ONNX.
    """
    specs = {t.name: Spec(t.shape, dtypes[t.element]) for t in tensors if t.element in dtypes}
    graph = CoreGraph(specs, borders.inputs, borders.states, borders.outputs, dict(constants))
    for node in nodes:
        apply(Lowering(graph, node))
    _drop_unread(graph)
    return graph


def _drop_unread(graph: CoreGraph) -> None:
    """Results that nobody wants, and constants that only said how to lower a node."""
    needed, kept = set(graph.outputs), []
    for node in reversed(graph.nodes):
        if needed.intersection(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    graph.nodes = kept[::-1]
    read = {name for node in graph.nodes for name in node.inputs} | set(graph.outputs)
    for name in [n for n in graph.constants if n not in read]:
        del graph.constants[name]


def refusal(node: MNNode, specs: Mapping[str, Spec], constants: Mapping[str, Array]) -> str:
    """Why a node cannot be compiled; "" if it can."""
    graph = CoreGraph(dict(specs), (), (), (), dict(constants))
    try:
        apply(Lowering(graph, node))
    except UnknownError as error:
        return str(error)
    reasons = (job_refusal(graph, job) for job in graph.nodes)
    return next((reason for reason in reasons if reason), "")


def reads_on_chip(node: MNNode, number: int, specs: Mapping[str, Spec], constants: Mapping[str, Array]) -> bool:
    """True if a job reads that operand, and it need not be a constant: no shape, no axis and the like."""
    copy = f"{node.inputs[number]} "
    inputs = tuple(copy if k == number else name for k, name in enumerate(node.inputs))
    graph = CoreGraph({**specs, copy: specs[node.inputs[number]]}, (), (), (), dict(constants))
    try:
        apply(Lowering(graph, replace(node, inputs=inputs)))
    except UnknownError:
        return False
    return any(copy in job.inputs for job in graph.nodes) and not any(job_refusal(graph, job) for job in graph.nodes)


def job_refusal(graph: CoreGraph, node: MNNode) -> str:
    """Why no kernel takes a node of a core graph; "" if one does."""
    unknown = [name for name in node.inputs if name and name not in graph.specs]
    if unknown:
        return f"constant {unknown[0]!r} of an element type that the device does not have"
    if node.op in REARRANGEMENTS:
        return ""
    if node.op in kernels():
        return kernels()[node.op].refuse(graph.job(node, "mixed"))
    return pointwise.refuse(node, graph.specs)
