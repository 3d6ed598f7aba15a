"""What a pass is, and helpers that passes share."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir


@dataclass(frozen=True, slots=True)
class Pass:
    """A rewriting of a model in place.

    `name` is the module's name. `run` returns the number of changes; 0 says that the model is as it was, which the
    runner checks when it verifies. `establishes` returns a text for each place that the pass should have rewritten and
    did not (its postcondition).
    """

    name: str
    run: Callable[[ir.Model], int]
    establishes: Callable[[ir.Model], list[str]] = lambda model: []


def constant_array(value: ir.Value | None) -> Any:
    """The numpy array of a constant value, None for anything that is not constant.

    An initializer that is also a graph input is a default value and no constant.
    """
    if value is None or value.const_value is None or value.is_graph_input():
        return None
    return value.const_value.numpy()


def shape_of(value: ir.Value) -> tuple[int, ...] | None:
    """Static shape of a value, None if it is not known."""
    if value.shape is None or not value.shape.is_static():
        return None
    return tuple(int(n) for n in value.shape)


def replace_value(old: ir.Value, new: ir.Value) -> bool:
    """Let every reader of `old` read `new`; False if `old` is a graph output and has to stay."""
    if old.is_graph_output():
        return False
    ir.convenience.replace_all_uses_with(old, new)
    return True


def remove_nodes(graph: ir.Graph, nodes: Collection[ir.Node]) -> None:
    """Take nodes whose results nobody else reads out of a graph.

    Call it once for many: each call goes through all outputs of the graph.
    """
    if nodes:
        graph.remove(nodes, safe=True)
