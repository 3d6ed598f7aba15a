"""The element-wise operators by name and element types; recipes and rows are in `pfcomp.kernels.recipes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes import conversions, doubles, relations, single, whole
from pfcomp.kernels.recipes.emitter import Attributes
from pfcomp.kernels.recipes.row import Row

ROWS: tuple[Row, ...] = (*single.ROWS, *doubles.ROWS, *whole.ROWS, *relations.ROWS, *conversions.ROWS)

_BY_TYPES = {(row.op, row.inputs, row.output): row for row in (*ROWS, *relations.JOINED)}
NAMES = tuple(sorted({row.op for row in ROWS}))
BY_NAME = {name: tuple(row for row in ROWS if row.op == name) for name in NAMES}


def signature(inputs: Sequence[DType]) -> tuple[DType, ...]:
    """The types by which rows are found: one if all are equal."""
    return (inputs[0],) if len(set(inputs)) == 1 else tuple(inputs)


def find(op: str, inputs: Sequence[DType], output: DType) -> Row | None:
    """The row for operands of these types (missing ones left out), None if there is none."""
    return _BY_TYPES.get((op, signature(inputs), output))


def refuse(op: str, inputs: Sequence[DType], output: DType, attributes: Attributes) -> str:
    """Why the operator cannot be done on these types, "" if it can."""
    if op not in BY_NAME:
        return "no kernel"
    row = find(op, inputs, output) if inputs else None
    if row is None:
        return f"no kernel for {', '.join(inputs)} to {output}"
    if len(inputs) < row.least or (row.most is not None and len(inputs) > row.most):
        return f"{len(inputs)} operands"
    return row.refuse(attributes)


@dataclass(frozen=True, slots=True)
class ElementwiseOp:
    """What an operator does to Float, for lists of operators."""

    name: str
    meaning: str


UNLISTED = frozenset({"Gelu", "Rsqrt"})
"""An operator of a later opset, and one of our own that a pair of operators becomes."""

ELEMENTWISE: dict[str, ElementwiseOp] = {
    name: ElementwiseOp(name, BY_NAME[name][0].meaning) for name in NAMES if name not in UNLISTED
}
