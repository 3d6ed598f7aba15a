"""Matrix products."""

from __future__ import annotations

from typing import Any

from pfcomp.frontend.lower.builder import Builder, out_type, shape_of
from pfcomp.frontend.lower.dtypes import FLOATING
from pfcomp.frontend.lower.table import lowers


@lowers("mm.default", "bmm.default")
def _matmul(b: Builder, node: Any, x: Any, y: Any) -> Any:
    return b.op("MatMul", x, y)


def _with_vector(b: Builder, x: Any, y: Any) -> Any:
    """Matrix (or vector) times vector, the vector as a matrix of one column.

    onnxruntime 1.32, from its optimisation level EXTENDED on, fuses a Transpose into MatMul wrongly beside a vector.
    """
    rows = b.reshape(x, (1, *shape_of(x)[-1:])) if len(shape_of(x)) == 1 else x
    product = b.op("MatMul", rows, b.reshape(y, (*shape_of(y), 1)))
    return b.reshape(product, shape_of(x)[:-1])


@lowers("mv.default", "dot.default")
def _vector_product(b: Builder, node: Any, x: Any, y: Any) -> Any:
    return _with_vector(b, x, y)


@lowers("addmm.default")
def _addmm(b: Builder, node: Any, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    if out_type(node) in FLOATING:
        return b.op("Gemm", x, y, bias, alpha=float(alpha), beta=float(beta))
    return _scaled_sum(b, node, bias, b.op("MatMul", x, y), beta, alpha)


@lowers("baddbmm.default")
def _added_product(b: Builder, node: Any, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled_sum(b, node, bias, b.op("MatMul", x, y), beta, alpha)


@lowers("addmv.default")
def _added_vector(b: Builder, node: Any, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    return _scaled_sum(b, node, bias, _with_vector(b, x, y), beta, alpha)


@lowers("addbmm.default")
def _addbmm(b: Builder, node: Any, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = b.op("ReduceSum", b.op("MatMul", x, y), b.ints([0]), keepdims=0)
    return _scaled_sum(b, node, bias, product, beta, alpha)


@lowers("addr.default")
def _addr(b: Builder, node: Any, bias: Any, x: Any, y: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    product = b.op("Mul", b.reshape(x, (*shape_of(x), 1)), y)
    return _scaled_sum(b, node, bias, product, beta, alpha)


def _scaled_sum(b: Builder, node: Any, bias: Any, product: Any, beta: Any, alpha: Any) -> Any:
    """`beta * bias + alpha * product`; torch ignores the bias where beta is 0."""
    dtype = out_type(node)
    if alpha != 1:
        product = b.op("Mul", product, b.constant(alpha, dtype))
    if beta == 0:
        return product
    if beta != 1:
        bias = b.op("Mul", bias, b.constant(beta, dtype))
    return b.op("Add", product, bias)
