"""Computes once, with onnxruntime, what depends on constants only."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir

from pfcomp.passes.base import Pass, constant_array, remove_nodes, replace_value, shape_of
from pfcomp.passes.merge_equal import RANDOM_OPS

GROWTH_LIMIT = 4096
"""A result with more elements than this is folded only where it is no larger than the constants it comes from."""

READ_LIMIT = 1 << 26
"""Larger constants are left alone: a copy costs more than the node, and onnxruntime takes 2 GB at once."""


def run(model: ir.Model) -> int:
    """Number of nodes replaced by constants."""
    foldable = _foldable(model.graph)
    if not foldable:
        return 0
    inside = set(foldable)
    wanted = [value for node in foldable for value in node.outputs if _is_needed(value, inside)]
    arrays = _computed(foldable, wanted)
    if arrays is None:
        return 0
    for value, array in zip(wanted, arrays, strict=True):
        _replace(model, value, array)
    kept = {node for node in foldable if any(value.is_graph_output() for value in node.outputs)}
    for node in reversed(foldable):  # what a kept node reads is kept as well
        if any(use.node in kept for value in node.outputs for use in value.uses()):
            kept.add(node)
    removed = [node for node in foldable if node not in kept]
    remove_nodes(model.graph, removed)
    return len(removed)


def _foldable(graph: ir.Graph) -> list[ir.Node]:
    """Nodes whose inputs are constants or results of foldable nodes, as far as results stay small."""
    chosen: dict[ir.Node, None] = {}
    for node in graph:
        if node.op_type in RANDOM_OPS or node.domain not in ("", "ai.onnx") or _has_subgraph(node):
            continue
        if all(_is_fixed(value, chosen) for value in node.inputs) and _stays_small(node):
            chosen[node] = None
    return list(chosen)


def _has_subgraph(node: ir.Node) -> bool:
    return any(attr.type in (ir.AttributeType.GRAPH, ir.AttributeType.GRAPHS) for attr in node.attributes.values())


def _is_fixed(value: ir.Value | None, chosen: dict[ir.Node, None]) -> bool:
    if value is None or constant_array(value) is not None:
        return True
    producer = value.producer()
    return producer is not None and producer in chosen


def _stays_small(node: ir.Node) -> bool:
    shapes = [shape_of(value) for value in node.outputs]
    if any(shape is None for shape in shapes):
        return False
    size = sum(math.prod(shape) for shape in shapes if shape is not None)
    read = sum(math.prod(shape_of(value) or ()) for value in node.inputs if value is not None)
    return size <= max(GROWTH_LIMIT, read) and read <= READ_LIMIT


def _is_needed(value: ir.Value, inside: set[ir.Node]) -> bool:
    return value.is_graph_output() or any(use.node not in inside for use in value.uses())


def _computed(nodes: list[ir.Node], wanted: list[ir.Value]) -> list[Any] | None:
    """Values of the constant part; None where onnxruntime has no kernel for it, then it stays."""
    from pfcomp.pfvm.session import run_nodes

    return run_nodes(nodes, wanted)


def _replace(model: ir.Model, value: ir.Value, array: Any) -> None:
    """A constant in place of a computed value; a graph output stays a node's result."""
    if value.is_graph_output():
        return
    tensor = ir.Tensor(array, dtype=value.dtype, name=value.name)
    constant = ir.Value(name=f"{value.name}.folded", shape=ir.Shape(array.shape), type=value.type, const_value=tensor)
    replace_value(value, constant)
    model.graph.register_initializer(constant)


PASS = Pass("fold_constants", run)
