"""Removes nodes whose results nobody reads, and constants that no node uses."""

from __future__ import annotations

from collections.abc import Container

import onnx_ir as ir

from pfcomp.passes.base import Pass, remove_nodes


def run(model: ir.Model) -> int:
    """Number of nodes and initializers removed; graph inputs and their defaults stay."""
    graph = model.graph
    dead: dict[ir.Node, None] = {}
    for node in reversed(graph):
        if not any(_is_read(value, dead) for value in node.outputs):
            dead[node] = None
    remove_nodes(graph, dead)
    removed = len(dead)
    for name, value in list(graph.initializers.items()):
        if not value.uses() and not value.is_graph_output() and not value.is_graph_input():
            del graph.initializers[name]
            removed += 1
    return removed


def _is_read(value: ir.Value, dead: Container[ir.Node]) -> bool:
    return value.is_graph_output() or any(use.node not in dead for use in value.uses())


def establishes(model: ir.Model) -> list[str]:
    """Names of nodes that are still dead."""
    return [
        f"{node.name} is dead"
        for node in model.graph
        if not any(value.uses() or value.is_graph_output() for value in node.outputs)
    ]


PASS = Pass("drop_dead", run, establishes)
