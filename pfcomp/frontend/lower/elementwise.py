"""Element-wise arithmetic, comparisons, logic and conversions."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir

from pfcomp.frontend.graph import Literal
from pfcomp.frontend.lower.builder import Builder, out_type
from pfcomp.frontend.lower.dtypes import FLOATING, ONNX_TYPES, promoted
from pfcomp.frontend.lower.table import LOWERINGS, lowers

UNARY = {
    **{name: name.capitalize() for name in ("abs", "neg", "exp", "log", "sqrt", "sin", "cos", "tan", "tanh")},
    **{name: name.capitalize() for name in ("floor", "ceil", "round", "erf", "sign", "reciprocal", "relu", "sigmoid")},
    **{name: name.capitalize() for name in ("asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh")},
}
"""Operators whose ONNX counterpart has one operand and the same element type as the result."""

ARITHMETIC = {"mul": "Mul", "div": "Div", "maximum": "Max", "minimum": "Min"}
COMPARISON = {"eq": "Equal", "lt": "Less", "le": "LessOrEqual", "gt": "Greater", "ge": "GreaterOrEqual"}
_SMALL = frozenset({ir.DataType.BOOL, ir.DataType.INT8, ir.DataType.INT16, ir.DataType.UINT8})
"""Types that onnxruntime does not compare; int32 holds their values."""

LOGIC = {"and": "And", "or": "Or", "xor": "Xor"}


def _unary(kind: str) -> Any:
    def lower(b: Builder, node: Any, x: Any) -> Any:
        return b.op(kind, b.as_type(x, out_type(node)))

    return lower


def _arithmetic(kind: str) -> Any:
    def lower(b: Builder, node: Any, x: Any, y: Any) -> Any:
        dtype = out_type(node)
        used = "And" if kind == "Mul" and dtype == ir.DataType.BOOL else kind
        return b.op(used, b.as_type(x, dtype), b.as_type(y, dtype))

    return lower


def _comparison(kind: str, negate: bool = False) -> Any:
    def lower(b: Builder, node: Any, x: Any, y: Any) -> Any:
        dtype = promoted(x, y)
        if dtype in _SMALL and not (dtype == ir.DataType.BOOL and kind == "Equal"):
            dtype = ir.DataType.INT32
        result = b.op(kind, b.as_type(x, dtype), b.as_type(y, dtype))
        return b.op("Not", result) if negate else result

    return lower


def _logic(name: str, logical: bool) -> Any:
    def lower(b: Builder, node: Any, x: Any, y: Any) -> Any:
        if logical:
            return b.op(LOGIC[name], truth(b, x), truth(b, y))
        dtype = out_type(node)
        kind = LOGIC[name] if dtype == ir.DataType.BOOL else f"Bitwise{LOGIC[name]}"
        return b.op(kind, b.as_type(x, dtype), b.as_type(y, dtype))

    return lower


def truth(b: Builder, x: Any) -> Any:
    """`x != 0` as a bool value."""
    return b.as_type(x, ir.DataType.BOOL)


for _name, _kind in UNARY.items():
    lowers(f"{_name}.default")(_unary(_kind))
for _name, _kind in ARITHMETIC.items():
    for _overload in ("Tensor", "Scalar", "default"):
        lowers(f"{_name}.{_overload}")(_arithmetic(_kind))
for _name, _kind in COMPARISON.items():
    for _overload in ("Tensor", "Scalar"):
        lowers(f"{_name}.{_overload}")(_comparison(_kind))
for _overload in ("Tensor", "Scalar"):
    lowers(f"ne.{_overload}")(_comparison("Equal", negate=True))
for _name in LOGIC:
    lowers(f"logical_{_name}.default")(_logic(_name, logical=True))
    for _overload in ("Tensor", "Scalar"):
        lowers(f"bitwise_{_name}.{_overload}")(_logic(_name, logical=False))


def _added(kind: str) -> Any:
    def lower(b: Builder, node: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
        dtype = out_type(node)
        second = b.as_type(y, dtype)
        if alpha != 1:
            second = b.op("Mul", second, b.constant(alpha, dtype))
        if dtype == ir.DataType.BOOL:
            return b.op("Or", b.as_type(x, dtype), second)
        return b.op(kind, b.as_type(x, dtype), second)

    return lower


for _overload in ("Tensor", "Scalar"):
    lowers(f"add.{_overload}")(_added("Add"))
    lowers(f"sub.{_overload}")(_added("Sub"))


@lowers("rsub.Tensor", "rsub.Scalar")
def _rsub(b: Builder, node: Any, x: Any, y: Any, alpha: Any = 1) -> Any:
    return LOWERINGS["aten.sub.Tensor"](b, node, y, x, alpha)


@lowers("pow.Tensor_Scalar", "pow.Tensor_Tensor", "pow.Scalar")
def _pow(b: Builder, node: Any, x: Any, y: Any) -> Any:
    dtype = out_type(node)
    if isinstance(y, (int, float)) and y == 2:
        value = b.as_type(x, dtype)
        return b.op("Mul", value, value)
    return b.op("Pow", b.as_type(x, dtype), b.as_type(y, dtype))


@lowers("div.Tensor_mode", "div.Scalar_mode")
def _div_mode(b: Builder, node: Any, x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    dtype = out_type(node)
    x, y = b.as_type(x, dtype), b.as_type(y, dtype)
    if rounding_mode is None:
        return b.op("Div", x, y)
    if dtype in FLOATING:
        quotient = b.op("Div", x, y)
        return b.op("Floor", quotient) if rounding_mode == "floor" else _truncated(b, quotient)
    if rounding_mode == "trunc":
        return b.op("Div", x, y)
    # integer floor: the remainder with the divisor's sign (ONNX Mod) divides exactly
    return b.op("Div", b.op("Sub", x, b.op("Mod", x, y)), y)


@lowers("trunc.default")
def _trunc(b: Builder, node: Any, x: Any) -> Any:
    return _truncated(b, x) if out_type(node) in FLOATING else x


def _truncated(b: Builder, x: Any) -> Any:
    return b.op("Mul", b.op("Sign", x), b.op("Floor", b.op("Abs", x)))


@lowers("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor")
def _remainder(b: Builder, node: Any, x: Any, y: Any) -> Any:
    dtype = out_type(node)
    x, y = b.as_type(x, dtype), b.as_type(y, dtype)
    if dtype not in FLOATING:
        return b.op("Mod", x, y)
    return b.op("Sub", x, b.op("Mul", b.op("Floor", b.op("Div", x, y)), y))


@lowers("fmod.Tensor", "fmod.Scalar")
def _fmod(b: Builder, node: Any, x: Any, y: Any) -> Any:
    dtype = out_type(node)
    return b.op("Mod", b.as_type(x, dtype), b.as_type(y, dtype), fmod=1)


@lowers("logical_not.default")
def _logical_not(b: Builder, node: Any, x: Any) -> Any:
    return b.op("Not", truth(b, x))


@lowers("bitwise_not.default")
def _bitwise_not(b: Builder, node: Any, x: Any) -> Any:
    return b.op("Not" if out_type(node) == ir.DataType.BOOL else "BitwiseNot", x)


@lowers("isnan.default")
def _isnan(b: Builder, node: Any, x: Any) -> Any:
    return b.op("IsNaN", x) if x.dtype in FLOATING else b.op("Not", b.op("Equal", x, x))


@lowers("isinf.default")
def _isinf(b: Builder, node: Any, x: Any) -> Any:
    return b.op("IsInf", x) if x.dtype in FLOATING else b.op("Not", b.op("Equal", x, x))


@lowers("rsqrt.default")
def _rsqrt(b: Builder, node: Any, x: Any) -> Any:
    return b.op("Reciprocal", b.op("Sqrt", b.as_type(x, out_type(node))))


@lowers("expm1.default", "prims.expm1.default")
def _expm1(b: Builder, node: Any, x: Any) -> Any:
    dtype = out_type(node)
    return b.op("Sub", b.op("Exp", b.as_type(x, dtype)), b.constant(1, dtype))


@lowers("log1p.default", "prims.log1p.default")
def _log1p(b: Builder, node: Any, x: Any) -> Any:
    dtype = out_type(node)
    return b.op("Log", b.op("Add", b.as_type(x, dtype), b.constant(1, dtype)))


@lowers("square.default")
def _square(b: Builder, node: Any, x: Any) -> Any:
    return b.op("Mul", x, x)


@lowers("log2.default", "log10.default")
def _log_base(b: Builder, node: Any, x: Any) -> Any:
    factor = 1.4426950408889634 if node.op == "aten.log2.default" else 0.4342944819032518
    dtype = out_type(node)
    return b.op("Mul", b.op("Log", b.as_type(x, dtype)), b.constant(factor, dtype))


@lowers("where.self", "where.ScalarSelf", "where.ScalarOther", "where.Scalar")
def _where(b: Builder, node: Any, condition: Any, x: Any, y: Any) -> Any:
    dtype = out_type(node)
    return b.op("Where", truth(b, condition), b.as_type(x, dtype), b.as_type(y, dtype))


@lowers("masked_fill.Scalar", "masked_fill.Tensor")
def _masked_fill(b: Builder, node: Any, x: Any, mask: Any, value: Any) -> Any:
    dtype = out_type(node)
    return b.op("Where", mask, b.as_type(value, dtype), b.as_type(x, dtype))


@lowers("clamp.default", "clamp.Tensor", "clamp_min.default", "clamp_min.Tensor")
def _clamp(b: Builder, node: Any, x: Any, min: Any = None, max: Any = None) -> Any:
    dtype = out_type(node)
    value = b.as_type(x, dtype)
    if min is not None:
        value = b.op("Max", value, b.as_type(min, dtype))
    if max is not None:
        value = b.op("Min", value, b.as_type(max, dtype))
    return value


@lowers("clamp_max.default", "clamp_max.Tensor")
def _clamp_max(b: Builder, node: Any, x: Any, max: Any) -> Any:
    return _clamp(b, node, x, None, max)


@lowers("addcmul.default", "addcdiv.default")
def _addc(b: Builder, node: Any, x: Any, first: Any, second: Any, value: Any = 1) -> Any:
    dtype = out_type(node)
    kind = "Mul" if "addcmul" in node.op else "Div"
    # torch's order: (value * first) op second
    left = b.as_type(first, dtype)
    if value != 1:
        left = b.op("Mul", left, b.constant(value, dtype))
    return b.op("Add", b.as_type(x, dtype), b.op(kind, left, b.as_type(second, dtype)))


@lowers("lerp.Scalar")
def _lerp(b: Builder, node: Any, start: Any, end: Any, weight: Any) -> Any:
    dtype = out_type(node)
    gap = b.op("Sub", end, start)
    if abs(weight) < 0.5:
        return b.op("Add", start, b.op("Mul", gap, b.constant(weight, dtype)))
    return b.op("Sub", end, b.op("Mul", gap, b.constant(1 - weight, dtype)))


@lowers("_to_copy.default")
def _to_copy(b: Builder, node: Any, x: Any, dtype: Any = None, memory_format: Any = None) -> Any:
    return b.as_type(x, out_type(node))


@lowers("prims.convert_element_type.default")
def _convert(b: Builder, node: Any, x: Any, dtype: Any) -> Any:
    return b.as_type(x, out_type(node))


@lowers("clone.default", "alias.default", "detach.default", "lift_fresh_copy.default", "lift_fresh.default")
def _same(b: Builder, node: Any, x: Any, memory_format: Any = None) -> Any:
    return x


@lowers("copy.default")
def _copy(b: Builder, node: Any, target: Any, source: Any, non_blocking: Any = None) -> Any:
    value = b.as_type(source, out_type(node))
    shape = tuple(node.results[0].shape)
    if value.shape is not None and tuple(value.shape) == shape:
        return value
    return b.op("Expand", value, b.ints(shape))


def literal_type(value: Any) -> ir.DataType:
    """ONNX type of a captured dtype argument."""
    if not isinstance(value, Literal):
        raise TypeError(f"{value!r} is not a dtype")
    return ONNX_TYPES[value.value]
