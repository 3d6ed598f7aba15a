"""Joins chains of views (Reshape, Transpose, Expand) and drops pairs of Neg and of Not."""

from __future__ import annotations

from collections.abc import Callable

import onnx_ir as ir

from pfcomp.passes.base import Pass, constant_array, replace_value, shape_of

RESHAPES = frozenset({"Reshape", "Squeeze", "Unsqueeze", "Flatten"})


def run(model: ir.Model) -> int:
    """Number of nodes that now read past the node before them."""
    changed = 0
    for node in model.graph:
        previous = _previous(node)
        if previous is not None and _joins(node, previous):
            changed += int(_JOIN[node.op_type](node, previous))
    return changed


def _previous(node: ir.Node) -> ir.Node | None:
    """The ONNX node that makes the first input."""
    made_by = node.inputs[0].producer() if node.inputs and node.inputs[0] is not None else None
    return made_by if made_by is not None and made_by.domain in ("", "ai.onnx") else None


def _joins(node: ir.Node, previous: ir.Node) -> bool:
    """The node may read the previous node's input instead of its output."""
    if node.op_type == "Reshape":
        # a 0 in the shape copies a length of the input, which is another one then
        shape = constant_array(node.inputs[1])
        return previous.op_type in RESHAPES and shape is not None and 0 not in shape
    if node.op_type == "Expand":
        # expansion is two-way: a shape shorter than the result relies on the input's
        shape = constant_array(node.inputs[1])
        return previous.op_type == "Expand" and shape is not None and tuple(shape) == shape_of(node.outputs[0])
    if node.op_type == "Transpose":
        return previous.op_type == "Transpose" and "perm" in node.attributes and "perm" in previous.attributes
    return node.op_type in ("Neg", "Not") and previous.op_type == node.op_type and _is_inner(node)


def _is_inner(node: ir.Node) -> bool:
    return bool(node.outputs[0].uses()) and not node.outputs[0].is_graph_output()


def _bypass(node: ir.Node, previous: ir.Node) -> bool:
    node.replace_input_with(0, previous.inputs[0])
    return True


def _join_transpose(node: ir.Node, previous: ir.Node) -> bool:
    outer, inner = list(node.attributes["perm"].as_ints()), list(previous.attributes["perm"].as_ints())
    node.attributes["perm"] = ir.AttrInt64s("perm", [inner[axis] for axis in outer])
    return _bypass(node, previous)


def _cancel(node: ir.Node, previous: ir.Node) -> bool:
    """Neg of Neg and Not of Not are exact inverses."""
    source = previous.inputs[0]
    return source is not None and replace_value(node.outputs[0], source)


_JOIN: dict[str, Callable[[ir.Node, ir.Node], bool]] = {
    "Reshape": _bypass,
    "Expand": _bypass,
    "Transpose": _join_transpose,
    "Neg": _cancel,
    "Not": _cancel,
}


def establishes(model: ir.Model) -> list[str]:
    """Names of nodes that still follow one they could be joined with."""
    pairs = ((node, _previous(node)) for node in model.graph)
    return [f"{node.name} follows {p.name}" for node, p in pairs if p is not None and _joins(node, p)]


PASS = Pass("clean_views", run, establishes)
