"""Removes nodes that give back their first input bit for bit.

Only exact rules: `x * 1`, `x / 1`, `x - (+0.0)` and `x + (-0.0)` return `x` for every value. `x + (+0.0)` does not (it
turns -0.0 into +0.0), and a constant that is merely close to 0 or 1 is an operand like any other (frontend.md 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.passes.base import Pass, constant_array, remove_nodes, replace_value, shape_of


def run(model: ir.Model) -> int:
    """Number of nodes removed."""
    dropped = []
    for node in model.graph:
        source = kept_input(node)
        if source is not None and replace_value(node.outputs[0], source):
            dropped.append(node)
    remove_nodes(model.graph, dropped)
    return len(dropped)


def kept_input(node: ir.Node) -> ir.Value | None:
    """The input that a node gives back unchanged, None if it computes something."""
    rule = RULES.get(node.op_type)
    if rule is None or node.domain not in ("", "ai.onnx"):
        return None
    source = rule(node)
    if source is None or source.dtype is None or source.dtype != node.outputs[0].dtype:
        return None
    shape = shape_of(node.outputs[0])
    return source if shape is not None and shape == shape_of(source) else None


def _first(node: ir.Node) -> ir.Value | None:
    return node.inputs[0]


def _equals(value: ir.Value | None, number: float) -> bool:
    """The value is a constant whose elements all are exactly `number`, zero's sign included."""
    array = constant_array(value)
    if array is None or array.size == 0:
        return False
    wanted = np.asarray(number, dtype=array.dtype)
    same_sign = array.dtype.kind not in "fV" or bool(np.all(np.signbit(array) == np.signbit(wanted)))
    return bool(np.all(array == wanted)) and same_sign


def _neutral(number: float, commutes: bool) -> Callable[[ir.Node], ir.Value | None]:
    def rule(node: ir.Node) -> ir.Value | None:
        first, second = node.inputs
        if _equals(second, number):
            return first
        return second if commutes and _equals(first, number) else None

    return rule


def _add(node: ir.Node) -> ir.Value | None:
    first, second = node.inputs
    floating = first is not None and first.dtype is not None and first.dtype.is_floating_point()
    zero = -0.0 if floating else 0
    return first if _equals(second, zero) else second if _equals(first, zero) else None


def _transpose(node: ir.Node) -> ir.Value | None:
    order = node.attributes.get("perm")
    if order is None:
        return None
    axes: Any = order.as_ints()
    shape = shape_of(node.outputs[0])
    if shape is not None and shape == shape_of(node.inputs[0]) and _keeps_order(axes, shape):
        return node.inputs[0]
    return None


def _keeps_order(axes: Any, shape: tuple[int, ...]) -> bool:
    """Only axes of length 1 change their place."""
    long_axes = [axis for axis, size in zip(axes, shape, strict=True) if size != 1]
    return long_axes == sorted(long_axes) and [axis for axis in axes if shape[axis] != 1] == long_axes


def _pad(node: ir.Node) -> ir.Value | None:
    pads = constant_array(node.inputs[1])
    return node.inputs[0] if pads is not None and not np.any(pads) else None


RULES: dict[str, Callable[[ir.Node], ir.Value | None]] = {
    "Identity": _first,
    "Cast": _first,
    "Reshape": _first,
    "Squeeze": _first,
    "Unsqueeze": _first,
    "Flatten": _first,
    "Expand": _first,
    "Tile": _first,
    "Transpose": _transpose,
    "Pad": _pad,
    "Concat": lambda node: node.inputs[0] if len(node.inputs) == 1 else None,
    "Mul": _neutral(1, commutes=True),
    "Div": _neutral(1, commutes=False),
    "Sub": _neutral(0, commutes=False),
    "Add": _add,
}
"""Candidate input by op; it counts only where type and shape of the result are those of the input."""


def establishes(model: ir.Model) -> list[str]:
    """Names of nodes that could go and are no graph outputs."""
    return [
        f"{node.name} gives back its input"
        for node in model.graph
        if kept_input(node) is not None and not node.outputs[0].is_graph_output()
    ]


PASS = Pass("drop_identity", run, establishes)
