"""Gives every value an element type and a static shape."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import ShapeInferencePass

from pfcomp.passes.base import Pass, shape_of


def run(model: ir.Model) -> int:
    """Number of values that got a type or a shape."""
    missing = [value for node in model.graph for value in node.outputs if not _known(value)]
    if not missing:
        return 0
    ShapeInferencePass()(model)
    return sum(_known(value) for value in missing)


def _known(value: ir.Value) -> bool:
    return not value.name or (value.dtype is not None and shape_of(value) is not None)


def establishes(model: ir.Model) -> list[str]:
    """Names of values whose type or shape stays unknown."""
    return [f"{value.name} has no static shape" for node in model.graph for value in node.outputs if not _known(value)]


PASS = Pass("infer_shapes", run, establishes)
