"""The graph of jobs while it is built: specs of all tensors, nodes in order, constants with contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.element_types import ELEMENT_TYPES
from pfcomp.ir.elements import HOST_TYPES
from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels.api import Attribute, Job, Spec

Array = NDArray[np.generic]

DTYPES: dict[str, DType] = {name: kind.device for name, kind in ELEMENT_TYPES.items()}
"""Device element types by ONNX element type; other types have no kernels."""


def device_dtypes(float_dtype: str) -> dict[str, DType]:
    """Device element types by ONNX element type under the option float_dtype.

    With `double` what single precision holds otherwise is Double on the device. With `half`, as with `mixed`, products
    take half operands, and values are stored in single precision.
    """
    if float_dtype != "double":
        return DTYPES
    return {name: DType.DOUBLE if dtype is DType.FLOAT else dtype for name, dtype in DTYPES.items()}


SWITCH = "LayoutSwitch"
"""The operator that moves a tensor to a layout that the user demands (`pfcomp.plan.switches`)."""

REARRANGEMENTS = (
    *("Identity", "Reshape", "Transpose", "Expand", "Tile"),
    *("Slice", "Take", "Concat", "Pad", "Unfold", "Fold", "Spread"),
    SWITCH,
)
"""Operators that only move elements; what they mean stands in `views`."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A tensor that is a part of a tensor in DRAM: its number along every axis, and how that one is cut.

    `counts` and `lengths` are numbers and lengths (elements) of the pieces along every axis; the last piece of an axis
    may be shorter. `written` is true for outputs and states.
    """

    tensor: str
    index: tuple[int, ...]
    counts: tuple[int, ...]
    lengths: tuple[int, ...]
    written: bool

    @property
    def time(self) -> int:
        """Which time slice of the tensor's image the piece is: row-major over the axes."""
        number = 0
        for index, count in zip(self.index, self.counts, strict=True):
            number = number * count + index
        return number


@dataclass(slots=True)
class CoreGraph:
    """Nodes whose operators have kernels or are rearrangements, in topological order.

    Where `pieces` has an entry for an input, state or output, that one is a part of a larger tensor in DRAM. `parts`
    has, for the nodes and tensors of a graph in pieces, the ones of the graph before that they are parts of.
    """

    specs: dict[str, Spec]
    inputs: tuple[str, ...]
    states: tuple[str, ...]
    outputs: tuple[str, ...]
    constants: dict[str, Array]
    nodes: list[MNNode] = field(default_factory=list)
    pieces: dict[str, Piece] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)

    def in_dram(self, name: str) -> str:
        """The tensor in DRAM that an input, state, constant or output is, or is a piece of."""
        return self.pieces[name].tensor if name in self.pieces else name

    def job(self, node: MNNode, float_dtype: str) -> Job:
        """The node as its kernel sees it."""
        inputs = tuple(self.specs[name] for name in node.inputs)
        outputs = tuple(self.specs[name] for name in node.outputs)
        return Job(node.op, inputs, outputs, node.attributes, float_dtype)


class Lowering:
    """Appends nodes to a core graph in place of one ONNX node; `rules` uses its methods."""

    def __init__(self, graph: CoreGraph, node: MNNode) -> None:
        self.graph, self.node = graph, node
        self.made = 0

    def spec(self, name: str) -> Spec:
        return self.graph.specs[name]

    def shape(self, index: int) -> tuple[int, ...]:
        """Shape of an operand of the ONNX node."""
        return self.graph.specs[self.node.inputs[index]].shape

    def attribute(self, name: str, default: Attribute) -> Attribute:
        return dict(self.node.attributes).get(name, default)

    def integer(self, name: str, default: int) -> int:
        value = self.attribute(name, default)
        assert isinstance(value, int), name
        return value

    def given(self, index: int) -> str | None:
        """The name of an optional operand, None if it is absent."""
        inputs = self.node.inputs
        return inputs[index] if index < len(inputs) and inputs[index] else None

    def known(self, index: int) -> Array | None:
        """The contents of an optional operand; raises `Unknown` if it is there but no constant."""
        name = self.given(index)
        if name is None:
            return None
        if name not in self.graph.constants:
            raise UnknownError(f"operand {index} must be a constant")
        return self.graph.constants[name]

    def ints(self, index: int) -> tuple[int, ...] | None:
        found = self.known(index)
        return None if found is None else tuple(int(v) for v in found.reshape(-1))

    def constant(self, array: Array, dtype: DType) -> str:
        """A new constant of the device's element type."""
        name = self._fresh("constant")
        self.graph.constants[name] = np.asarray(array, HOST_TYPES[dtype])
        self.graph.specs[name] = Spec(tuple(np.shape(array)), dtype)
        return name

    def op(
        self,
        op: str,
        inputs: Sequence[str],
        shape: tuple[int, ...],
        dtype: DType | None = None,
        attributes: tuple[tuple[str, Attribute], ...] = (),
    ) -> str:
        """A node with one result of `shape`; its element type is that of the first operand unless given."""
        name = self._fresh(op.lower())
        self.graph.specs[name] = Spec(shape, dtype or self.graph.specs[inputs[0]].dtype)
        self._append(name, op, inputs, (name,), attributes)
        return name

    def several(
        self, op: str, inputs: Sequence[str], specs: Sequence[Spec], attributes: tuple[tuple[str, Attribute], ...] = ()
    ) -> tuple[str, ...]:
        """A node with several results."""
        names = tuple(self._fresh(op.lower()) for _ in specs)
        self.graph.specs.update(zip(names, specs, strict=True))
        self._append(names[0], op, inputs, names, attributes)
        return names

    def part(self, name: str, axis: int, start: int, size: int) -> str:
        """`size` elements from `start` on along an axis of a tensor; the tensor itself if these are all."""
        spec = self.graph.specs[name]
        if size == spec.shape[axis]:
            return name
        starts = tuple(start if k == axis else 0 for k in range(len(spec.shape)))
        kept = (*spec.shape[:axis], size, *spec.shape[axis + 1 :])
        return self.op("Slice", [name], kept, attributes=(("starts", starts), ("steps", (1,) * len(starts))))

    def last(self, op: str, inputs: Sequence[str], attributes: tuple[tuple[str, Attribute], ...] = ()) -> None:
        """The node that makes the results of the ONNX node itself."""
        self._append(self.node.name, op, inputs, self.node.outputs, attributes)

    def named(
        self, op: str, inputs: Sequence[str], output: str, attributes: tuple[tuple[str, Attribute], ...] = ()
    ) -> None:
        """The node that makes one of several results of the ONNX node."""
        self._append(f"{self.node.name}.{output}", op, inputs, (output,), attributes)

    def result(self, number: int, spec: Spec) -> str:
        """The name of a result of the ONNX node; one that the node leaves out gets a name here."""
        outputs = self.node.outputs
        if number < len(outputs) and outputs[number]:
            return outputs[number]
        name = self._fresh("unused")
        self.graph.specs[name] = spec
        return name

    def together(
        self, op: str, inputs: Sequence[str], outputs: tuple[str, ...], attributes: tuple[tuple[str, Attribute], ...]
    ) -> None:
        """The node that makes several results at once, whose names are from `result`."""
        self._append(self.node.name, op, inputs, outputs, attributes)

    def _append(
        self,
        name: str,
        op: str,
        inputs: Sequence[str],
        outputs: tuple[str, ...],
        attributes: tuple[tuple[str, Attribute], ...],
    ) -> None:
        self.graph.nodes.append(MNNode(name, op, tuple(inputs), outputs, attributes, self.node.source))

    def _fresh(self, kind: str) -> str:
        self.made += 1
        first = next(name for name in self.node.outputs if name)
        return f"{first}.{kind}{self.made}"


class UnknownError(Exception):
    """A node that cannot be lowered; the text is the reason."""


def elements(shape: tuple[int, ...]) -> int:
    """Number of elements."""
    return prod(shape)
