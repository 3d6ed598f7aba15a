"""Turns Constant nodes into initializers."""

from __future__ import annotations

import onnx_ir as ir
from onnx_ir.passes.common import LiftConstantsToInitializersPass

from pfcomp.passes.base import Pass


def run(model: ir.Model) -> int:
    """Number of Constant nodes lifted; one that is a graph output stays."""
    before = _constants(model)
    if before:
        LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    return before - _constants(model)


def _constants(model: ir.Model) -> int:
    return sum(node.op_type == "Constant" for node in model.graph)


PASS = Pass("lift_constants", run)
