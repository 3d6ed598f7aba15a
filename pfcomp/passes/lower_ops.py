"""Rewrites operators outside the core set as core operators; a user's model may hold them, ours does not.

One rule per operator: it gets a `Rewriter` and the node and returns the values that take the place of the node's
outputs, or None where it does not apply. Shapes are static, so shape arithmetic becomes constants.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from pfcomp.passes.base import Pass, constant_array, shape_of

SOURCE_KEY = "pfcomp.source"
Rule = Callable[["Rewriter", ir.Node], "Sequence[ir.Value | None] | None"]


class Rewriter:
    """Builds the nodes that replace one node, named after it."""

    def __init__(self, model: ir.Model, node: ir.Node) -> None:
        self.graph, self.node = model.graph, node
        self.nodes: list[ir.Node] = []
        self._label = node.outputs[0].name
        self._constants = 0

    def op(self, kind: str, *inputs: ir.Value | None, **attributes: Any) -> ir.Value:
        """A new node with one output."""
        attrs = ir.convenience.convert_attributes(attributes)
        node = ir.Node(
            "", kind, list(inputs), attrs, num_outputs=1, name=f"{self._label}.{kind.lower()}{len(self.nodes)}"
        )
        node.outputs[0].name = node.name
        if SOURCE_KEY in self.node.metadata_props:
            node.metadata_props[SOURCE_KEY] = self.node.metadata_props[SOURCE_KEY]
        self.nodes.append(node)
        return node.outputs[0]

    def constant(self, data: Any, dtype: ir.DataType) -> ir.Value:
        """A new initializer."""
        array = np.asarray(data, dtype=dtype.numpy())
        name = f"{self._label}.constant{self._constants}"
        self._constants += 1
        tensor = ir.Tensor(array, dtype=dtype, name=name)
        value = ir.Value(name=name, shape=ir.Shape(array.shape), type=ir.TensorType(dtype), const_value=tensor)
        self.graph.register_initializer(value)
        return value

    def number(self, value: float) -> ir.Value:
        """A scalar in the type of the node's first output."""
        return self.constant(value, self.dtype)

    def ints(self, values: Sequence[int]) -> ir.Value:
        """A rank 1 int64 constant."""
        return self.constant(np.asarray(list(values), dtype=np.int64), ir.DataType.INT64)

    @property
    def dtype(self) -> ir.DataType:
        found = self.node.outputs[0].dtype
        if found is None:
            raise KeyError(f"{self.node.name} has no type")
        return found

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the node's first output."""
        return shape_of(self.node.outputs[0]) or ()

    def attribute(self, name: str, default: Any) -> Any:
        """Value of an attribute or its default."""
        found = self.node.attributes.get(name)
        return default if found is None else found.value

    def input(self, index: int) -> ir.Value | None:
        """An input, None where it is absent."""
        return self.node.inputs[index] if index < len(self.node.inputs) else None

    @property
    def x(self) -> ir.Value:
        found = self.node.inputs[0]
        if found is None:
            raise KeyError(f"{self.node.name} has no input")
        return found

    @property
    def rank(self) -> int:
        return len(shape_of(self.x) or ())


def run(model: ir.Model) -> int:
    """Number of nodes rewritten."""
    rewritten = 0
    for node in model.graph:
        rule = RULES.get(node.op_type) if node.domain in ("", "ai.onnx") else None
        if rule is None or any(_untyped(value) for value in (*node.inputs, *node.outputs)) or _whole(node):
            continue
        rewriter = Rewriter(model, node)
        results = rule(rewriter, node)
        if results is not None:
            _replace(rewriter, node, results)
            rewritten += 1
    return rewritten


def _whole(node: ir.Node) -> bool:
    return node.op_type in WHOLE and node.outputs[0].dtype is ir.DataType.FLOAT


def _untyped(value: ir.Value | None) -> bool:
    return value is not None and bool(value.name) and (value.dtype is None or shape_of(value) is None)


def _replace(rewriter: Rewriter, node: ir.Node, results: Sequence[ir.Value | None]) -> None:
    """Insert the new nodes before the old one and let its readers use the results under the old names."""
    graph = rewriter.graph
    made = {value for new in rewriter.nodes for value in new.outputs}
    finals = []
    for old, new in zip(node.outputs, results, strict=False):
        if new is None:
            continue
        own = new if new in made and new not in finals else rewriter.op("Identity", new)
        own.type, own.shape = old.type, old.shape
        finals.append(own)
        ir.convenience.replace_all_uses_with(old, own, replace_graph_outputs=True)
        own.name, old.name = old.name, None
        producer = own.producer()
        if producer is not None:
            producer.name = own.name
    graph.insert_before(node, rewriter.nodes)
    graph.remove(node, safe=True)


def _to_reshape(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    return [r.op("Reshape", r.x, r.ints(r.shape), allowzero=int(0 in r.shape))]


def _first_input(r: Rewriter, node: ir.Node) -> list[ir.Value] | None:
    unused = all(not value.uses() and not value.is_graph_output() for value in node.outputs[1:])
    return [r.op("Identity", r.x)] if unused else None


def _shape(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    shape = shape_of(r.x) or ()
    start, end = r.attribute("start", 0), r.attribute("end", len(shape))
    return [r.op("Identity", r.ints(shape[start:end]))]


def _size(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    return [r.op("Identity", r.constant(math.prod(shape_of(r.x) or ()), ir.DataType.INT64))]


def _constant_of_shape(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    tensor = r.attribute("value", None)
    value = 0.0 if tensor is None else tensor.numpy().reshape(-1)[0]
    return [r.op("Expand", r.number(value), r.ints(r.shape))]


def _clip(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    value = r.x
    low, high = r.input(1), r.input(2)
    if low is not None:
        value = r.op("Max", value, low)
    if high is not None:
        value = r.op("Min", value, high)
    return [value]


def _chain(kind: str, mean: bool = False) -> Rule:
    """A variadic operator as a chain of two-operand ones."""

    def rule(r: Rewriter, node: ir.Node) -> list[ir.Value] | None:
        if len(node.inputs) == 2 and not mean and node.op_type == kind:
            return None
        value = r.x
        for other in node.inputs[1:]:
            value = r.op(kind, value, other)
        return [r.op("Div", value, r.number(len(node.inputs))) if mean else value]

    return rule


def _global_pool(kind: str) -> Rule:
    def rule(r: Rewriter, node: ir.Node) -> list[ir.Value]:
        return [r.op(kind, r.x, r.ints(range(2, r.rank)), keepdims=1)]

    return rule


def _reduced(before: Callable[[Rewriter], ir.Value], after: str | None) -> Rule:
    """ReduceSum of a function of the elements, then another function."""

    def rule(r: Rewriter, node: ir.Node) -> list[ir.Value] | None:
        axes = r.input(1)
        if "axes" in node.attributes or (axes is not None and constant_array(axes) is None):
            return None
        flags = {"keepdims": r.attribute("keepdims", 1), "noop_with_empty_axes": r.attribute("noop_with_empty_axes", 0)}
        total = r.op("ReduceSum", before(r), *([] if axes is None else [axes]), **flags)
        return [total if after is None else r.op(after, total)]

    return rule


def _squared(r: Rewriter) -> ir.Value:
    return r.op("Mul", r.x, r.x)


def _layer_norm(r: Rewriter, node: ir.Node) -> list[ir.Value | None]:
    axis = r.attribute("axis", -1) % r.rank
    value, mean, inverse = _normalised(r, list(range(axis, r.rank)))
    scale, bias = r.input(1), r.input(2)
    value = value if scale is None else r.op("Mul", value, scale)
    return [value if bias is None else r.op("Add", value, bias), mean, inverse]


def _normalised(r: Rewriter, axes: list[int], x: ir.Value | None = None) -> tuple[ir.Value, ir.Value, ir.Value]:
    """(x - mean) / sqrt(variance + epsilon) over the axes, the mean, and the reciprocal root."""
    source = r.x if x is None else x
    mean = r.op("ReduceMean", source, r.ints(axes), keepdims=1)
    distance = r.op("Sub", source, mean)
    variance = r.op("ReduceMean", r.op("Mul", distance, distance), r.ints(axes), keepdims=1)
    shifted = r.op("Add", variance, r.number(r.attribute("epsilon", 1e-5)))
    inverse = r.op("Reciprocal", r.op("Sqrt", shifted))
    return r.op("Mul", distance, inverse), mean, inverse


def _per_channel(r: Rewriter, value: ir.Value | None) -> ir.Value:
    if value is None:
        raise KeyError(f"{r.node.name} has no scale or bias")
    channels = (shape_of(value) or (1,))[0]
    return r.op("Reshape", value, r.ints([1, channels, *([1] * (r.rank - 2))]))


def _instance_norm(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    value, _, _ = _normalised(r, list(range(2, r.rank)))
    return [r.op("Add", r.op("Mul", value, _per_channel(r, r.input(1))), _per_channel(r, r.input(2)))]


def _softplus(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    """`max(x, 0) + log(1 + exp(-|x|))`, which cannot overflow."""
    small = r.op("Log", r.op("Add", r.op("Exp", r.op("Neg", r.op("Abs", r.x))), r.number(1)))
    return [r.op("Add", r.op("Relu", r.x), small)]


def _softsign(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    return [r.op("Div", r.x, r.op("Add", r.op("Abs", r.x), r.number(1)))]


def _elu(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    """Elu, Celu and Selu: `gamma x` where positive, else `gamma alpha (exp(x / width) - 1)`."""
    alpha = r.attribute("alpha", 1.67326319217681884765625 if node.op_type == "Selu" else 1.0)
    gamma = r.attribute("gamma", 1.05070102214813232421875) if node.op_type == "Selu" else 1.0
    scaled = r.op("Div", r.x, r.number(alpha)) if node.op_type == "Celu" else r.x
    below = r.op("Mul", r.op("Sub", r.op("Exp", scaled), r.number(1)), r.number(alpha * gamma))
    above = r.x if gamma == 1.0 else r.op("Mul", r.x, r.number(gamma))
    return [r.op("Where", r.op("Greater", r.x, r.number(0)), above, below)]


def _prelu(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    return [r.op("Where", r.op("Less", r.x, r.number(0)), r.op("Mul", r.x, r.input(1)), r.x)]


def _hard_swish(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    return [r.op("Mul", r.x, r.op("HardSigmoid", r.x, alpha=1 / 6, beta=0.5))]


def _cast_like(r: Rewriter, node: ir.Node) -> list[ir.Value]:
    return [r.op("Cast", r.x, to=int(r.dtype))]


RULES: dict[str, Rule] = {
    "Squeeze": _to_reshape,
    "Unsqueeze": _to_reshape,
    "Flatten": _to_reshape,
    "Dropout": _first_input,
    "Shape": _shape,
    "Size": _size,
    "ConstantOfShape": _constant_of_shape,
    "Clip": _clip,
    "Sum": _chain("Add"),
    "Mean": _chain("Add", mean=True),
    "Max": _chain("Max"),
    "Min": _chain("Min"),
    "GlobalAveragePool": _global_pool("ReduceMean"),
    "GlobalMaxPool": _global_pool("ReduceMax"),
    "ReduceL1": _reduced(lambda r: r.op("Abs", r.x), None),
    "ReduceL2": _reduced(_squared, "Sqrt"),
    "ReduceSumSquare": _reduced(_squared, None),
    "ReduceLogSum": _reduced(lambda r: r.x, "Log"),
    "LayerNormalization": _layer_norm,
    "InstanceNormalization": _instance_norm,
    "Softplus": _softplus,
    "Softsign": _softsign,
    "Elu": _elu,
    "Celu": _elu,
    "Selu": _elu,
    "PRelu": _prelu,
    "HardSwish": _hard_swish,
    "CastLike": _cast_like,
}
"""Operator -> rule; what a rule makes is in the core set without `WHOLE`."""

WHOLE = frozenset(["Celu", "Elu", "HardSwish", "PRelu", "Selu", "Softplus", "Sum"])
"""Left as they are in single precision: their recipes are no slower than what the rules make and no less accurate.

Softsign's is less accurate; Clip is as fast as Max and Min, which can be streamed.
"""

PASS = Pass("lower_ops", run)
