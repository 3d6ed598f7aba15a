"""Random graphs of all families of operators, with inputs, and how far each output may be from a reference.

Every value is computed twice in double precision while a graph grows, once exactly and once with noise as large as the
rounding errors of a careful device. An operator that would leave the range of useful numbers, or that jumps where the
two differ, is not taken; the distance of the two bounds the error of an output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto

from tests.programs.general import Array, Node

Numbers = NDArray[np.float64]
Rng = np.random.Generator
Shape = tuple[int, ...]

DIMS = (1, 2, 3, 4, 5, 7, 8, 11, 13, 16, 17, 24, 31, 32, 37, 53, 64, 70)
LONG_DIMS = (96, 100, 128, 197, 224, 256, 384, 500, 512, 768, 1000, 1024, 2048)
"""Lengths of axes that larger graphs have besides."""
MOST_ELEMENTS = 12_000
NOISE = 2.0**-19
"""Of the largest magnitude of a value: sums and products of matrices have errors of that size."""
ROOM = 4
LARGEST = 1e4
FLOAT, DOUBLE, BOOL = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.BOOL
INT, LONG = TensorProto.INT32, TensorProto.INT64
FLOATING, INTEGERS = (FLOAT, DOUBLE), (INT, LONG)
HOST: dict[int, type[np.generic]] = {
    FLOAT: np.float32,
    DOUBLE: np.float64,
    INT: np.int32,
    LONG: np.int64,
    BOOL: np.bool_,
}


@dataclass(frozen=True)
class Value:
    """A tensor: its element type, its contents, and what they are if rounding errors occur."""

    name: str
    element: int
    exact: Numbers
    noisy: Numbers

    @property
    def shape(self) -> Shape:
        return tuple(int(n) for n in self.exact.shape)


@dataclass
class Graph:
    """Nodes in order with the contents of inputs and constants; `values` are all tensors, in order.

    The first tensor has at least `least` elements, none has more than `most`; `dims` are lengths of axes.
    """

    rng: Rng
    least: int = 0
    most: int = MOST_ELEMENTS
    dims: tuple[int, ...] = DIMS
    nodes: list[Node] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    constants: dict[str, Array] = field(default_factory=dict)
    values: list[Value] = field(default_factory=list)

    def pick(self, element: int = FLOAT, accept: Callable[[Value], bool] = lambda _: True) -> Value | None:
        """One of the tensors, later ones more often."""
        found = [v for v in self.values if v.element == element and accept(v)]
        return found[int(len(found) * np.sqrt(self.rng.random()))] if found else None

    def fresh(self, array: Array, element: int) -> Value:
        """A new input or constant."""
        constant = bool(self.rng.random() < 0.3)
        name = f"{'c' if constant else 'x'}{len(self.inputs) + len(self.constants)}"
        array = np.asarray(array, HOST[element])
        (self.constants if constant else self.inputs)[name] = array
        numbers = array.astype(np.float64)
        self.values.append(Value(name, element, numbers, numbers))
        return self.values[-1]

    def normal(self, shape: Sequence[int]) -> Value:
        return self.fresh(self.rng.standard_normal(tuple(shape)), FLOAT)

    def given(self, array: object) -> str:
        """A constant that says how an operator works."""
        name = f"k{len(self.constants)}"
        self.constants[name] = np.asarray(array, np.int64)
        return name

    def add(
        self,
        op: str,
        operands: Sequence[Value],
        meaning: Callable[..., Numbers],
        element: int = FLOAT,
        parameters: Sequence[str] = (),
        results: int = 1,
        **attributes: object,
    ) -> bool:
        """Take an operator if its first result is useful; `parameters` are constants behind the operands."""
        with np.errstate(all="ignore"):
            exact = np.asarray(meaning(*(v.exact for v in operands)), np.float64)
            noisy = np.asarray(meaning(*(v.noisy for v in operands)), np.float64)
        if not self._useful(exact, noisy, element):
            return False
        if element in FLOATING:
            scale = np.abs(exact).max()
            noisy = noisy + NOISE * scale * self.rng.uniform(-1, 1, exact.shape)
        name = f"v{len(self.nodes)}"
        outputs = [name, *(f"{name}_{k}" for k in range(1, results))]
        self.nodes.append(Node(op, [*(v.name for v in operands), *parameters], outputs, attributes))
        self.values.append(Value(name, element, exact, noisy))
        return True

    def _useful(self, exact: Numbers, noisy: Numbers, element: int) -> bool:
        if not 0 < exact.size <= self.most or exact.ndim > 5:
            return False
        if not (np.isfinite(exact).all() and np.isfinite(noisy).all()) or np.abs(exact).max() > LARGEST:
            return False
        distance = np.abs(noisy - exact).max()
        return bool(distance == 0) if element not in FLOATING else bool(distance <= 1e-3 * np.abs(exact).max())

    def outputs(self) -> dict[str, int]:
        """Results that nobody reads."""
        read = {name for node in self.nodes for name in node.inputs}
        return {v.name: v.element for v in self.values if v.name.startswith("v") and v.name not in read}

    def value(self, name: str) -> Value:
        return next(v for v in self.values if v.name == name)

    def tolerance(self, name: str) -> float:
        """The largest absolute error that the output may have."""
        value = self.value(name)
        if value.element not in FLOATING:
            return 0.0
        return float(ROOM * np.abs(value.noisy - value.exact).max() + NOISE * np.abs(value.exact).max())
