"""The order of the passes, and their application with optional verification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir

from pfcomp.errors import InternalError
from pfcomp.passes import (
    clean_views,
    drop_dead,
    drop_identity,
    fold_constants,
    infer_shapes,
    lift_constants,
    lower_ops,
    merge_equal,
    name_nodes,
)
from pfcomp.passes.base import Pass

STANDARD: tuple[Pass, ...] = (
    lift_constants.PASS,
    name_nodes.PASS,
    infer_shapes.PASS,
    lower_ops.PASS,
    infer_shapes.PASS,
    fold_constants.PASS,
    drop_identity.PASS,
    clean_views.PASS,
    drop_identity.PASS,
    merge_equal.PASS,
    drop_dead.PASS,
)
"""What the stage onnx applies, in this order, until nothing changes."""

ROUNDS = 4


def optimise(model: ir.Model, *, verify: bool = False, observe: Callable[[str, int], None] | None = None) -> int:
    """Apply the standard passes in place until a round changes nothing; returns the number of changes."""
    total = 0
    for _ in range(ROUNDS):
        changes = apply(model, STANDARD, verify=verify, observe=observe)
        total += changes
        if not changes:
            break
    return total


def apply(
    model: ir.Model,
    passes: Sequence[Pass],
    *,
    verify: bool = False,
    observe: Callable[[str, int], None] | None = None,
) -> int:
    """Apply passes once, in order.

    With `verify`, each must establish its postcondition, keep the graph's interface and change nothing when it says
    so; InternalError PF0319 names the pass otherwise.
    """
    total = 0
    for item in passes:
        before = _outline(model) if verify else ()
        interface = _interface(model)
        changes = item.run(model)
        if verify:
            _verify(item, model, changes, before, interface)
        if observe is not None:
            observe(item.name, changes)
        total += changes
    return total


def _verify(item: Pass, model: ir.Model, changes: int, before: Any, interface: tuple[str, ...]) -> None:
    faults = item.establishes(model)
    if not changes and _outline(model) != before:
        faults.append("it changed the model and said that it did not")
    if _interface(model) != interface:
        faults.append("it changed the graph's inputs or outputs")
    if faults:
        raise InternalError("PF0319", f"pass {item.name}: {'; '.join(faults)}")


def _outline(model: ir.Model) -> Any:
    """Nodes with their attributes, values and types, and the names of constants: what a pass can change."""
    return [_node_outline(node) for node in model.graph], list(model.graph.initializers)


def _node_outline(node: ir.Node) -> Any:
    inputs = [None if value is None else value.name for value in node.inputs]
    outputs = [(value.name, value.dtype, str(value.shape)) for value in node.outputs]
    attributes = [(name, str(attribute.value)) for name, attribute in node.attributes.items()]
    return node.name, node.domain, node.op_type, inputs, outputs, attributes


def _interface(model: ir.Model) -> tuple[str, ...]:
    return tuple(f"{v.name}:{v.dtype}:{v.shape}" for v in (*model.graph.inputs, *model.graph.outputs))
