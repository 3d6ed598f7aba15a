"""The ONNX operators that the front end emits, by family: what a back end has to lower (design.md 6.1).

A model that a user brings may hold others; `classify` tells which of them the table knows.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import onnx_ir as ir

OPSET = 18
"""Operator set of exported models; a user's model may have another."""


@dataclass(frozen=True, slots=True)
class CoreOp:
    """A row: the operator's family, its first opset in the form we emit, and the limits we keep to."""

    family: str
    since: int
    limits: str = ""


def _family(family: str, since: int, names: str, limits: str = "") -> dict[str, CoreOp]:
    return {name: CoreOp(family, since, limits) for name in names.split()}


CORE_OPS: dict[str, CoreOp] = {
    **_family("arithmetic", 14, "Add Sub Mul Div", "numpy broadcasting"),
    **_family("arithmetic", 13, "Max Min", "two operands"),
    **_family("arithmetic", 15, "Pow"),
    **_family("arithmetic", 13, "Mod", "integers, and fmod=1 for floating"),
    **_family("unary", 13, "Abs Neg Exp Log Sqrt Reciprocal Sigmoid Tanh Erf Sign Floor Ceil"),
    **_family("unary", 11, "Round", "half to even"),
    **_family("unary", 14, "Relu"),
    **_family("unary", 7, "Sin Cos Tan Asin Acos Atan"),
    **_family("unary", 9, "Sinh Cosh Asinh Acosh Atanh"),
    **_family("unary", 16, "LeakyRelu"),
    **_family("unary", 6, "HardSigmoid", "alpha 1/6, beta 0.5"),
    **_family("activation", 1, "Softplus", "other types are rewritten by lower_ops"),
    **_family("activation", 6, "Elu Selu", "other types are rewritten by lower_ops"),
    **_family("activation", 12, "Celu", "other types are rewritten by lower_ops"),
    **_family("activation", 14, "HardSwish", "other types are rewritten by lower_ops"),
    **_family("activation", 16, "PRelu", "other types are rewritten by lower_ops"),
    **_family("arithmetic", 13, "Sum", "other types are rewritten by lower_ops"),
    **_family("comparison", 13, "Equal Less Greater"),
    **_family("comparison", 16, "LessOrEqual GreaterOrEqual"),
    **_family("comparison", 13, "IsNaN"),
    **_family("comparison", 10, "IsInf"),
    **_family("logic", 7, "And Or Xor"),
    **_family("logic", 1, "Not"),
    **_family("logic", 18, "BitwiseAnd BitwiseOr BitwiseXor BitwiseNot"),
    **_family("select", 16, "Where"),
    **_family("cast", 13, "Cast"),
    **_family("reduction", 18, "ReduceMean ReduceMax ReduceMin ReduceProd ReduceLogSumExp", "axes are constants"),
    **_family("reduction", 13, "ReduceSum", "axes are constants"),
    **_family("arg-reduction", 13, "ArgMax ArgMin", "first of equal elements"),
    **_family("contraction", 13, "MatMul Gemm"),
    **_family("contraction", 11, "Conv ConvTranspose", "explicit pads"),
    **_family("pooling", 12, "MaxPool", "explicit pads; indices inside a channel after Mod"),
    **_family("pooling", 11, "AveragePool", "explicit pads, ceil_mode 0"),
    **_family("normalisation", 13, "Softmax LogSoftmax"),
    **_family("normalisation", 15, "BatchNormalization", "inference form"),
    **_family("view", 14, "Reshape Identity", "shapes are constants"),
    **_family("view", 13, "Transpose Expand Slice Concat Tile", "shapes, starts and ends are constants"),
    **_family("view", 18, "Split Pad", "sizes and pads are constants"),
    **_family("gather", 13, "Gather GatherElements GatherND"),
    **_family("scatter", 18, "ScatterElements ScatterND", "reduction none, add, mul, max or min"),
    **_family("scatter", 18, "Col2Im"),
    **_family("scan", 14, "CumSum", "axis is a constant"),
    **_family("scan", 14, "Trilu", "diagonal is a constant"),
    **_family("sort", 11, "TopK", "k is a constant"),
}


@dataclass(frozen=True, slots=True)
class Census:
    """Ops of a model: how many nodes of each type, and those that the table does not have."""

    counts: tuple[tuple[str, int], ...]
    unknown: tuple[str, ...]


def classify(model: ir.Model) -> Census:
    """Counts by op type, most frequent first, and the types outside the core set."""
    counts = Counter(node.op_type for node in model.graph)
    ordered = tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    return Census(ordered, tuple(sorted(name for name in counts if name not in CORE_OPS)))
