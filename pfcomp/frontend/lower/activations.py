"""Activation functions that ONNX has as one node or that are short formulas; the rest is decomposed before."""

from __future__ import annotations

import math
from typing import Any

from pfcomp.frontend.lower.builder import Builder, out_type, shape_of
from pfcomp.frontend.lower.table import lowers


@lowers("gelu.default")
def _gelu(b: Builder, node: Any, x: Any, approximate: str = "none") -> Any:
    dtype = out_type(node)

    def const(number: float) -> Any:
        return b.constant(number, dtype)

    half = b.op("Mul", x, const(0.5))
    if approximate == "none":
        inner = b.op("Erf", b.op("Mul", x, const(math.sqrt(0.5))))
    else:
        cube = b.op("Mul", b.op("Mul", x, x), x)
        inner = b.op("Add", x, b.op("Mul", cube, const(0.044715)))
        inner = b.op("Tanh", b.op("Mul", inner, const(math.sqrt(2 / math.pi))))
    return b.op("Mul", half, b.op("Add", inner, const(1.0)))


@lowers("silu.default")
def _silu(b: Builder, node: Any, x: Any) -> Any:
    return b.op("Mul", x, b.op("Sigmoid", x))


@lowers("leaky_relu.default")
def _leaky_relu(b: Builder, node: Any, x: Any, negative_slope: float = 0.01) -> Any:
    return b.op("LeakyRelu", x, alpha=float(negative_slope))


@lowers("hardtanh.default")
def _hardtanh(b: Builder, node: Any, x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Any:
    dtype = out_type(node)
    return b.op("Min", b.op("Max", x, b.constant(min_val, dtype)), b.constant(max_val, dtype))


@lowers("hardsigmoid.default")
def _hardsigmoid(b: Builder, node: Any, x: Any) -> Any:
    return b.op("HardSigmoid", x, alpha=1 / 6, beta=0.5)


@lowers("hardswish.default")
def _hardswish(b: Builder, node: Any, x: Any) -> Any:
    return b.op("Mul", x, b.op("HardSigmoid", x, alpha=1 / 6, beta=0.5))


@lowers("_softmax.default", "_log_softmax.default")
def _softmax(b: Builder, node: Any, x: Any, dim: int, half_to_float: Any = False, **_: Any) -> Any:
    kind = "LogSoftmax" if "log_softmax" in node.op else "Softmax"
    value = b.as_type(x, out_type(node))
    if not shape_of(x):
        return b.reshape(b.op(kind, b.reshape(value, (1,)), axis=0), ())
    return b.op(kind, value, axis=dim % len(shape_of(x)))
