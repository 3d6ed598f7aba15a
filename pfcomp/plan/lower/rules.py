"""How each ONNX operator that is not a kernel's own becomes jobs: one small function per operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pfcomp.ir.model import DType
from pfcomp.plan.lower import blocks, indexing, moving, scans, windows
from pfcomp.plan.lower.graph import Lowering, UnknownError
from pfcomp.plan.lower.resize import resize

Rule = Callable[[Lowering], None]


def _copy(low: Lowering) -> None:
    low.last(low.node.op, low.node.inputs, low.node.attributes)


def _gemm(low: Lowering) -> None:
    a, b = low.node.inputs[:2]
    dtype = low.spec(a).dtype
    for_a, for_b = low.integer("transA", 0), low.integer("transB", 0)
    if for_a:
        a = low.op("Transpose", [a], tuple(reversed(low.spec(a).shape)), attributes=(("perm", (1, 0)),))
    if for_b:
        b = low.op("Transpose", [b], tuple(reversed(low.spec(b).shape)), attributes=(("perm", (1, 0)),))
    alpha, beta = (float(low.attribute(name, 1.0)) for name in ("alpha", "beta"))  # type: ignore[arg-type]
    shape, c = low.spec(low.node.outputs[0]).shape, low.given(2)
    if alpha == 1.0 and c is None:
        low.last("MatMul", [a, b])
        return
    product = low.op("MatMul", [a, b], shape)
    if alpha != 1.0:
        factor = low.constant(np.array(alpha), dtype)
        if c is None:
            low.last("Mul", [product, factor])
            return
        product = low.op("Mul", [product, factor], shape)
    assert c is not None
    if beta != 1.0:
        c = low.op("Mul", [c, low.constant(np.array(beta), dtype)], low.spec(c).shape)
    low.last("Add", [product, c])


def _matmul(low: Lowering) -> None:
    """Vectors become matrices of one row or column; integers are multiplied one by one and added."""
    a, b = low.node.inputs
    if low.spec(a).dtype in (DType.INT, DType.LONG):
        _whole_product(low, a, b)
        return
    left, right = low.spec(a).shape, low.spec(b).shape
    if len(left) > 1 and len(right) > 1:
        low.last("MatMul", [a, b])
        return
    if len(left) == 1:
        a = low.op("Reshape", [a], (1, *left))
    if len(right) == 1:
        b = low.op("Reshape", [b], (*right, 1))
    batch = np.broadcast_shapes(low.spec(a).shape[:-2], low.spec(b).shape[:-2])
    product = low.op("MatMul", [a, b], (*batch, low.spec(a).shape[-2], low.spec(b).shape[-1]))
    low.last("Reshape", [product])


def _whole_product(low: Lowering, a: str, b: str) -> None:
    """The matrix unit has no integers: all products (..., row, inner, column), then sums over the inner axis."""
    left, right = low.spec(a).shape, low.spec(b).shape
    a = low.op("Reshape", [a], (*left, 1) if len(left) > 1 else (1, *left, 1))
    b = low.op("Reshape", [b], (*right[:-2], 1, *right[-2:]) if len(right) > 1 else (1, *right, 1))
    shape = np.broadcast_shapes(low.spec(a).shape, low.spec(b).shape)
    inner = (("axes", (len(shape) - 2,)), ("keepdims", 0))
    sums = low.op("ReduceSum", [low.op("Mul", [a, b], shape)], (*shape[:-2], shape[-1]), attributes=inner)
    low.last("Reshape", [sums])


def _reduce(low: Lowering) -> None:
    rank = len(low.shape(0))
    listed = low.ints(1)
    if not listed:
        if low.integer("noop_with_empty_axes", 0):
            low.last("Identity", low.node.inputs[:1])
            return
        listed = tuple(range(rank))
    axes = tuple(sorted({axis % rank for axis in listed}))
    low.last(low.node.op, low.node.inputs[:1], (("axes", axes), ("keepdims", low.integer("keepdims", 1))))


def _kept(low: Lowering, axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(1 if k in axes else n for k, n in enumerate(low.shape(0)))


def _log_sum_exp(low: Lowering) -> None:
    rank = len(low.shape(0))
    axes = tuple(sorted(axis % rank for axis in (low.ints(1) or range(rank))))
    x, kept = low.node.inputs[0], _kept(low, axes)
    over = (("axes", axes), ("keepdims", 1))
    top = low.op("ReduceMax", [x], kept, attributes=over)
    powers = low.op("Exp", [low.op("Sub", [x, top], low.shape(0))], low.shape(0))
    logs = low.op("Log", [low.op("ReduceSum", [powers], kept, attributes=over)], kept)
    if low.integer("keepdims", 1):
        low.last("Add", [logs, top])
    else:
        low.last("Reshape", [low.op("Add", [logs, top], kept)])


def _softmax(low: Lowering) -> None:
    axis = low.integer("axis", -1) % len(low.shape(0))
    x, shape, kept = low.node.inputs[0], low.shape(0), _kept(low, (axis,))
    over = (("axes", (axis,)), ("keepdims", 1))
    centred = low.op("Sub", [x, low.op("ReduceMax", [x], kept, attributes=over)], shape)
    powers = low.op("Exp", [centred], shape)
    total = low.op("ReduceSum", [powers], kept, attributes=over)
    if low.node.op == "LogSoftmax":
        low.last("Sub", [centred, low.op("Log", [total], kept)])
    else:
        low.last("Mul", [powers, low.op("Reciprocal", [total], kept)])


def _arg_reduce(low: Lowering) -> None:
    if low.integer("select_last_index", 0):
        raise UnknownError("select_last_index is not supported")
    axis = low.integer("axis", 0) % len(low.shape(0))
    low.last(low.node.op, low.node.inputs, (("axis", axis), ("keepdims", low.integer("keepdims", 1))))


def _clip(low: Lowering) -> None:
    """With one bound only it is a maximum or a minimum."""
    x, least, most = low.node.inputs[0], low.given(1), low.given(2)
    if least and most:
        low.last("Clip", [x, least, most])
    elif least:
        low.last("Max", [x, least])
    elif most:
        low.last("Min", [x, most])
    else:
        low.last("Identity", [x])


def _trilu(low: Lowering) -> None:
    """A selection by a constant triangle."""
    shape = low.shape(0)
    offset = (low.ints(1) or (0,))[0]
    dtype = low.spec(low.node.inputs[0]).dtype
    ones = np.ones(shape[-2:], np.bool_)
    kept = np.triu(ones, offset) if low.integer("upper", 1) else np.tril(ones, offset)
    mask, zero = low.constant(kept, DType.BOOL), low.constant(np.zeros(()), dtype)
    low.last("Where", [mask, low.node.inputs[0], zero])


def _batch_normalisation(low: Lowering) -> None:
    x, scale, shift, mean, variance = low.node.inputs[:5]
    shape, dtype = low.shape(0), low.spec(x).dtype
    along = (shape[1], *(1,) * (len(shape) - 2))
    epsilon = low.constant(np.array(low.attribute("epsilon", 1e-5)), dtype)
    width = (shape[1],)
    spread = low.op("Sqrt", [low.op("Add", [variance, epsilon], width)], width)
    factor = low.op("Div", [scale, spread], width)
    rest = low.op("Sub", [shift, low.op("Mul", [mean, factor], width)], width)
    factor, rest = (low.op("Reshape", [v], along) for v in (factor, rest))
    low.last("Add", [low.op("Mul", [x, factor], shape), rest])


RULES: dict[str, Rule] = {
    "Reshape": moving.reshape,
    "Squeeze": moving.reshape,
    "Unsqueeze": moving.reshape,
    "Flatten": moving.reshape,
    "Identity": lambda low: low.last("Identity", low.node.inputs),
    "Transpose": moving.transpose,
    "Expand": moving.expand,
    "Slice": moving.sliced,
    "Split": moving.split,
    "Concat": moving.concat,
    "Tile": moving.tile,
    "Pad": moving.pad,
    "Gather": indexing.gather,
    "GatherElements": indexing.gather_elements,
    "GatherND": indexing.gather_nd,
    "ScatterElements": indexing.scatter_elements,
    "ScatterND": indexing.scatter_nd,
    "TopK": scans.top_k,
    "Clip": _clip,
    "DepthToSpace": blocks.depth_to_space,
    "SpaceToDepth": blocks.space_to_depth,
    "OneHot": blocks.one_hot,
    "Resize": resize,
    "Col2Im": windows.columns_to_image,
    "Gemm": _gemm,
    "MatMul": _matmul,
    **dict.fromkeys(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"), _reduce),
    "ReduceLogSumExp": _log_sum_exp,
    "Softmax": _softmax,
    "LogSoftmax": _softmax,
    "ArgMax": _arg_reduce,
    "ArgMin": _arg_reduce,
    "CumSum": scans.cum_sum,
    "Trilu": _trilu,
    "BatchNormalization": _batch_normalisation,
    "Conv": windows.convolution,
    "ConvTranspose": windows.transposed_convolution,
    "MaxPool": windows.max_pooling,
    "AveragePool": windows.average_pooling,
}
"""Operators not named here are jobs as they are."""


def apply(low: Lowering) -> None:
    """Lower one node; raises `UnknownError` with the reason if that is impossible."""
    RULES.get(low.node.op, _copy)(low)
