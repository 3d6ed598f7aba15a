"""Common subexpressions and equal constants: computed and stored once."""

from __future__ import annotations

import hashlib
from typing import Any

import onnx_ir as ir

from pfcomp.passes.base import Pass, remove_nodes, replace_value

RANDOM_OPS = frozenset(
    {"RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"}
)
"""Two of these with equal inputs are different values."""


def run(model: ir.Model) -> int:
    """Number of values merged into an earlier equal one."""
    return _merge_initializers(model.graph) + _merge_nodes(model.graph)


def _merge_initializers(graph: ir.Graph) -> int:
    """Constants with equal type, shape and bytes; defaults of graph inputs are left alone."""
    groups: dict[Any, list[ir.Value]] = {}
    for value in graph.initializers.values():
        if not (value.is_graph_input() or value.is_graph_output() or value.const_value is None):
            groups.setdefault((value.const_value.dtype, tuple(value.const_value.shape)), []).append(value)
    return sum(_merge_group(graph, group) for group in groups.values() if len(group) > 1)


def _merge_group(graph: ir.Graph, group: list[ir.Value]) -> int:
    """Constants of one type and shape: by digest, because weights are large."""
    first: dict[bytes, ir.Value] = {}
    merged = 0
    for value in group:
        digest = hashlib.sha256(value.const_value.tobytes()).digest()
        kept = first.setdefault(digest, value)
        if kept is not value and replace_value(value, kept):
            del graph.initializers[str(value.name)]
            merged += 1
    return merged


def _merge_nodes(graph: ir.Graph) -> int:
    first: dict[Any, ir.Node] = {}
    merged = []
    for node in graph:
        key = _key(node)
        if key is None:
            continue
        kept = first.setdefault(key, node)
        if kept is node or any(value.is_graph_output() for value in node.outputs):
            continue
        for old, new in zip(node.outputs, kept.outputs, strict=True):
            replace_value(old, new)
        merged.append(node)
    remove_nodes(graph, merged)
    return len(merged)


def _key(node: ir.Node) -> Any:
    """Equal for nodes that compute the same; None for those that must stay apart."""
    if node.op_type in RANDOM_OPS or any(attr.type == ir.AttributeType.GRAPH for attr in node.attributes.values()):
        return None
    attributes = tuple(sorted((name, _attribute_key(attr)) for name, attr in node.attributes.items()))
    inputs = tuple(None if value is None else id(value) for value in node.inputs)
    return node.domain, node.op_type, node.overload, inputs, attributes, len(node.outputs)


def _attribute_key(attr: ir.Attr) -> str:
    if attr.type == ir.AttributeType.TENSOR:
        tensor = attr.as_tensor()
        return f"{tensor.dtype}{tuple(tensor.shape)}{tensor.tobytes().hex()}"
    return f"{attr.type}{attr.value!r}"


def establishes(model: ir.Model) -> list[str]:
    """Names of nodes that repeat an earlier one although they are no graph outputs."""
    seen: set[Any] = set()
    repeated = []
    for node in model.graph:
        key = _key(node)
        if key in seen and key is not None and not any(value.is_graph_output() for value in node.outputs):
            repeated.append(f"{node.name} repeats an earlier node")
        seen.add(key)
    return repeated


PASS = Pass("merge_equal", run, establishes)
