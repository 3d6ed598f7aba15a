"""How far the result of a node may be from its reference: from its operator, its precision and its longest sum.

Bounds are on the largest absolute error relative to the largest magnitude of the reference (design.md law 5).
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable

from pfcomp.ir.model import DType, MNNode, MNValue

UNIT_ROUNDOFF = {DType.FLOAT: 2.0**-24, DType.DOUBLE: 2.0**-53}
PRODUCT_ROUNDOFF = {"float": 2.0**-22, "pseudo": 2.0**-17, "mixed": 2.0**-9, "half": 2.0**-9}
"""Relative error of one block of a matrix product, by float_dtype (backend-kernels.md 5)."""
ULPS = 8
"""Units in the last place that one element-wise operator may be off (docs/numerics.md)."""
SLACK = 4


def node_bound(
    node: MNNode, inputs: tuple[MNValue, ...], result: MNValue, float_dtype: str, reference: float = 0.0
) -> float:
    """The bound of one node alone; 0 for integers and truth values.

    `reference` is the unit roundoff of the reference's element type, where the device holds it in a wider one.
    """
    if result.dtype not in UNIT_ROUNDOFF:
        return 0.0
    unit = max(UNIT_ROUNDOFF[result.dtype], reference)
    if node.op == "MatMul":
        length = inputs[0].shape[-1]
        step = unit if result.dtype is DType.DOUBLE else max(unit, PRODUCT_ROUNDOFF[float_dtype])
        return SLACK * step * math.sqrt(length)
    if node.op.startswith("Reduce") or node.op == "CumSum":
        return SLACK * unit * (16 + math.sqrt(math.prod(inputs[0].shape)))
    return ULPS * 2 * unit * max(1, len(node.body)) * SLACK


class Accumulated:
    """The bound of everything computed so far: the sum of the bounds of the nodes, with room for amplification."""

    AMPLIFICATION = 16

    def __init__(self) -> None:
        self.total = 0.0

    def after(self, bound: float) -> float:
        self.total += bound
        return self.AMPLIFICATION * self.total


class Inherited:
    """The bounds of nodes on reference operands: errors of operands without a reference pass on to the result."""

    def __init__(self, known: Container[str]) -> None:
        self.known = known
        self.bounds: dict[str, float] = {}

    def after(self, bound: float, operands: Iterable[str], result: str) -> float:
        total = bound + sum(self.bounds.get(name, 0.0) for name in dict.fromkeys(operands))
        if result not in self.known:
            self.bounds[result] = total
        return total
