"""The compiled ONNX as the planner sees it: static shapes, nodes in order, constants with their contents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from itertools import count as numbers
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import MNNode
from pfcomp.kernels.api import Attribute, Spec
from pfcomp.plan import narrow
from pfcomp.plan.lower.build import refusal
from pfcomp.plan.lower.graph import DTYPES
from pfcomp.plan.without_nan import never_nan, refuse_nan

if TYPE_CHECKING:
    import onnx_ir

SOURCE_KEY = "pfcomp.source"
MAX_RANK = 8
UPDATE = ":out"
"""The output `s:out` is the next value of the state `s`."""

STREAMED = frozenset(["Abs", "Add", "Identity", "Max", "Min", "Mul", "Neg", "Relu", "Sub", "Sum"])
"""Operators of graphs that are planned as regions, with time slices (`pfcomp.plan.region`)."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """Name, static shape and ONNX element type name (FLOAT, INT64, ...) of a value."""

    name: str
    shape: tuple[int, ...]
    element: str


@dataclass(frozen=True, slots=True)
class SourceGraph:
    """Tensors by name, nodes in topological order, graph inputs and outputs in order, contents of constants.

    `states` are the model's inputs with a first value: tensors that stay on the device between calls; see UPDATE.
    """

    tensors: dict[str, Tensor]
    nodes: tuple[MNNode, ...]
    inputs: tuple[str, ...]
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: dict[str, NDArray[np.generic]]

    @property
    def streams(self) -> bool:
        """True if everything is single precision and element-wise by nature, so that it can be cut into slices."""
        plain = all(node.op in STREAMED and not node.attributes for node in self.nodes)
        return plain and all(self.tensors[n].element == "FLOAT" for n in self._used())

    def _used(self) -> Iterable[str]:
        touched = (name for node in self.nodes for name in (*node.inputs, *node.outputs))
        return (*touched, *self.inputs, *self.states, *self.outputs)


@dataclass(frozen=True, slots=True)
class Offender:
    """A node that cannot be compiled: why, and on which line of the user's program it stands."""

    op: str
    node: str
    reason: str
    source: str


def read_model(model: onnx_ir.Model) -> SourceGraph:
    """Take the graph of `model`; raises UnsupportedError PF0401 that lists every node that cannot be compiled."""
    graph = model.graph
    values = [*graph.inputs, *graph.initializers.values(), *(o for n in graph for o in n.outputs)]
    tensors = {v.name: Tensor(v.name, _shape(v), _element(v)) for v in values if v.name}
    outputs = tuple(v.name for v in graph.outputs)
    nodes = _live(_uniquely_named(map(to_node, graph), tensors), outputs)
    names = tuple(v.name for v in graph.inputs)
    states = tuple(name for name in names if name in graph.initializers)
    inputs = tuple(name for name in names if name not in states)
    constants = {name: value.const_value.numpy() for name, value in graph.initializers.items() if name not in states}
    wrapped = narrow.wrap(nodes, {name: tensor.element for name, tensor in tensors.items()})
    nodes = wrapped.nodes
    constants |= wrapped.constants
    tensors |= {name: Tensor(name, tensors[shape].shape, narrow.HOLDER) for name, shape in wrapped.wide.items()}
    tensors |= {name: Tensor(name, array.shape, narrow.HOLDER) for name, array in wrapped.constants.items()}
    offenders = find_offenders(nodes, tensors, constants)
    if offenders:
        raise UnsupportedError("PF0401", describe(offenders), hint="`pfcomp ops` lists what has kernels")
    nodes = never_nan(nodes, constants)
    refuse_nan(nodes, outputs, constants)
    return SourceGraph(tensors, nodes, inputs, states, outputs, constants)


def _uniquely_named(nodes: Iterable[MNNode], tensors: Iterable[str]) -> tuple[MNNode, ...]:
    """The nodes with numbers behind names that a foreign model uses twice, or that the planner's moves will have."""
    taken = {f"{move}:{name}" for move in ("Download", "Upload") for name in tensors}
    result = []
    for node in nodes:
        name = next(n for n in chain([node.name], (f"{node.name}_{k}" for k in numbers(2))) if n not in taken)
        taken.add(name)
        result.append(replace(node, name=name))
    return tuple(result)


def _live(nodes: tuple[MNNode, ...], outputs: tuple[str, ...]) -> tuple[MNNode, ...]:
    """The nodes that an output depends on; our passes leave no others, a foreign model may."""
    needed = set(outputs)
    kept: list[MNNode] = []
    for node in reversed(nodes):
        if needed & set(node.outputs):
            kept.append(node)
            needed.update(node.inputs)
    return tuple(reversed(kept))


def _shape(value: onnx_ir.Value) -> tuple[int, ...]:
    if value.shape is None or not value.shape.is_static():
        raise UnsupportedError(
            "PF0402", f"value {value.name!r} has no static shape", hint="shapes must be known when compiling"
        )
    return tuple(int(d) for d in value.shape)


def _element(value: onnx_ir.Value) -> str:
    return value.dtype.name if value.dtype is not None else "UNDEFINED"


def to_node(node: onnx_ir.Node) -> MNNode:
    """An ONNX node as the planner's own."""
    inputs = tuple(v.name if v is not None else "" for v in node.inputs)
    outputs = tuple(v.name for v in node.outputs)
    return MNNode(
        name=node.name or outputs[0],
        op=f"{node.domain}::{node.op_type}" if node.domain else node.op_type,
        inputs=inputs,
        outputs=outputs,
        attributes=tuple((name, _attribute(a)) for name, a in node.attributes.items()),
        source=node.metadata_props.get(SOURCE_KEY, ""),
    )


def _attribute(attribute: onnx_ir.Attr) -> Attribute:
    """Numbers and texts as they are, sequences as tuples; anything else as text, for messages only."""
    value = attribute.value
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, int | float | str):
        return value
    if isinstance(value, Sequence) and all(isinstance(v, int) for v in value):
        return tuple(value)
    return str(value)


def find_offenders(
    nodes: Iterable[MNNode], tensors: Mapping[str, Tensor], constants: Mapping[str, NDArray[np.generic]]
) -> tuple[Offender, ...]:
    """All nodes that cannot be compiled, in graph order, each with its first reason."""
    found = ((node, _reason(node, tensors, constants)) for node in nodes)
    return tuple(Offender(n.op, n.name, reason, n.source) for n, reason in found if reason)


def _reason(node: MNNode, tensors: Mapping[str, Tensor], constants: Mapping[str, NDArray[np.generic]]) -> str:
    shapes = [tensors[name] for name in (*node.inputs, *node.outputs) if name]
    data = [t for t in shapes if t.name not in constants or t.element in DTYPES]
    wrong = sorted({t.element for t in data if t.element not in DTYPES})
    if wrong:
        return f"element type {', '.join(wrong)}; the device has {', '.join(DTYPES)}"
    if any(len(t.shape) > MAX_RANK for t in shapes):
        return f"rank over {MAX_RANK}"
    if any(0 in t.shape for t in shapes if t.name not in constants):
        return "a tensor without elements"
    specs = {t.name: Spec(t.shape, DTYPES[t.element]) for t in data}
    return refusal(node, specs, constants)


def describe(offenders: tuple[Offender, ...]) -> str:
    """One line: each operator and reason with its count, nodes and source lines, most frequent first."""
    groups = Counter((o.op, o.reason) for o in offenders)
    parts = []
    for (op, reason), count in sorted(groups.items(), key=lambda item: (-item[1], item[0])):
        same = [o for o in offenders if (o.op, o.reason) == (op, reason)]
        places = sorted({o.source for o in same if o.source}) or [o.node for o in same]
        parts.append(f"{op} x{count} ({reason}) at {', '.join(places)}")
    return f"{len(offenders)} of the graph's nodes cannot be compiled: " + "; ".join(parts)
