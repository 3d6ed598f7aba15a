"""Removes nodes whose results nobody reads, and constants that no node uses."""

from __future__ import annotations

import onnx_ir as ir

from pfcomp.passes.base import Pass


def run(model: ir.Model) -> int:
    """Number of nodes and initializers removed; graph inputs and their defaults stay."""
    graph = model.graph
    removed = 0
    for node in reversed(graph):
        if not any(value.uses() or value.is_graph_output() for value in node.outputs):
            graph.remove(node, safe=True)
            removed += 1
    for name, value in list(graph.initializers.items()):
        if not value.uses() and not value.is_graph_output() and not value.is_graph_input():
            del graph.initializers[name]
            removed += 1
    return removed


def establishes(model: ir.Model) -> list[str]:
    """Names of nodes that are still dead."""
    return [
        f"{node.name} is dead"
        for node in model.graph
        if not any(value.uses() or value.is_graph_output() for value in node.outputs)
    ]


PASS = Pass("drop_dead", run, establishes)
