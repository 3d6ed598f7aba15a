"""A small example of every operator that is not element by element, to ask the planner what it takes (`coverage`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels.api import Attribute, Spec
from pfcomp.plan.lower.graph import Array

Shape = tuple[int, ...]

OPERANDS: dict[str, Shape] = {
    "rows": (4, 6), "square": (6, 6), "column": (6,), "three": (3,), "image": (1, 2, 6, 6), "weight": (2, 2, 3, 3),
    "channel": (2,), "columns": (1, 4, 4), "blocks": (1, 4, 2, 3), "levels": (2,),
    "tall": (2049, 6), "long": ((1 << 22) + 1,),
}  # fmt: skip
"""Operands of the element type in question, by name."""

INDICES: dict[str, Shape] = {"chosen": (3,), "places": (4, 6), "high": (2049, 6), "pairs": (3, 2)}
"""Operands that hold indices (INT64) and are computed."""

CONSTANTS: dict[str, Array] = {
    name: np.array(values, np.int64)
    for name, values in {
        "axis": 1, "axes": [1], "one": [1], "two": [2], "end": [3], "many": [65], "halves": [2, 2], "sizes": [3, 3],
        "shape": [4, 6], "repeats": [1, 2], "pads": [0, 1, 0, 1], "picked": [3, 0, 1], "levels": [0, 1],
        "large": [1, 2, 12, 12],
    }.items()
}  # fmt: skip
"""Operands whose contents say how to lower a node: INT64, `levels` of the element type in question."""

INDEX_RESULTS = {"ArgMax": 0, "ArgMin": 0, "MaxPool": 1, "TopK": 1}
"""Which result holds indices."""


@dataclass(frozen=True, slots=True)
class Example:
    """A node: operator, operands by the names above (- is absent), shapes of the results, attributes."""

    op: str
    inputs: str
    results: tuple[Shape, ...]
    attributes: tuple[tuple[str, Attribute], ...] = ()

    @property
    def node(self) -> MNNode:
        """The node; its results are called y0, y1, ..."""
        outputs = tuple(f"y{k}" for k in range(len(self.results)))
        names = tuple("" if name == "-" else name for name in self.inputs.split())
        return MNNode("example", self.op, names, outputs, self.attributes)

    @property
    def operand(self) -> int:
        """The first operand of the element type in question."""
        return next(k for k, name in enumerate(self.inputs.split()) if name in OPERANDS)

    def specs(self, dtype: DType) -> dict[str, Spec]:
        """Specs of all tensors."""
        given = {name: Spec(array.shape, DType.LONG) for name, array in CONSTANTS.items()}
        given |= {name: Spec(shape, DType.LONG) for name, shape in INDICES.items()}
        given |= {name: Spec(shape, dtype) for name, shape in OPERANDS.items()}
        index = INDEX_RESULTS.get(self.op)
        kinds = [DType.LONG if k == index else dtype for k in range(len(self.results))]
        return given | dict(zip(self.node.outputs, map(Spec, self.results, kinds), strict=True))


_WINDOW: tuple[tuple[str, Attribute], ...] = (("kernel_shape", (3, 3)),)
_PARTS: dict[str, tuple[str, tuple[Shape, ...]]] = {
    "Transpose": ("rows", ((6, 4),)),
    "Reshape": ("rows shape", ((4, 6),)),
    "Identity": ("rows", ((4, 6),)),
    "Expand": ("rows shape", ((4, 6),)),
    "Slice": ("rows one end axes", ((4, 2),)),
    "Split": ("rows halves", ((2, 6), (2, 6))),
    "Tile": ("rows repeats", ((4, 12),)),
    "Pad": ("rows pads", ((4, 8),)),
    "Gather": ("rows chosen", ((3, 6),)),
    "GatherElements": ("rows places", ((4, 6),)),
    "GatherND": ("rows pairs", ((3,),)),
    "ScatterND": ("rows pairs three", ((4, 6),)),
    "Col2Im": ("columns sizes halves", ((1, 1, 3, 3),)),
    "MatMul": ("rows square", ((4, 6),)),
    "Gemm": ("rows square column", ((4, 6),)),
    **dict.fromkeys(("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceMean"), ("rows axes", ((4, 1),))),
    "ReduceLogSumExp": ("rows axes", ((4, 1),)),
    "Softmax": ("rows", ((4, 6),)),
    "LogSoftmax": ("rows", ((4, 6),)),
    "ArgMax": ("rows", ((1, 6),)),
    "ArgMin": ("rows", ((1, 6),)),
    "CumSum": ("rows axis", ((4, 6),)),
    "TopK": ("rows two", ((4, 2), (4, 2))),
    "OneHot": ("chosen many levels", ((3, 65),)),
    "Resize": ("image - - large", ((1, 2, 12, 12),)),
    "Trilu": ("square axis", ((6, 6),)),
    "BatchNormalization": ("image channel channel channel channel", ((1, 2, 6, 6),)),
    "Conv": ("image weight channel", ((1, 2, 4, 4),)),
    "ConvTranspose": ("image weight channel", ((1, 2, 8, 8),)),
}

EXAMPLES: tuple[Example, ...] = (
    *(Example(op, inputs, results) for op, (inputs, results) in _PARTS.items()),
    *(
        Example("ScatterElements", "rows places rows", ((4, 6),), (("reduction", kind),))
        for kind in ("none", "add", "mul", "max", "min")
    ),
    Example("DepthToSpace", "blocks", ((1, 1, 4, 6),), (("blocksize", 2),)),
    Example("SpaceToDepth", "image", ((1, 8, 3, 3),), (("blocksize", 2),)),
    Example("Concat", "rows rows", ((8, 6),), (("axis", 0),)),
    *(Example(op, "image", ((1, 2, 4, 4),), _WINDOW) for op in ("MaxPool", "AveragePool")),
)
"""Forms that at least some element types should go through."""

VARIANTS: tuple[Example, ...] = (
    Example("Gather", "rows picked", ((3, 6),)),
    Example("GatherElements", "tall high", ((2049, 6),)),
    Example("ScatterElements", "tall high tall", ((2049, 6),), (("reduction", "none"),)),
    Example("TopK", "tall many", ((65, 6), (65, 6)), (("axis", 0),)),
    Example("ArgMax", "long", ((1,),)),
    Example("ArgMin", "long", ((1,),)),
    Example("ArgMax", "rows", ((1, 6),), (("select_last_index", 1),)),
    Example("ArgMin", "rows", ((1, 6),), (("select_last_index", 1),)),
    Example("Resize", "image - - large", ((1, 2, 12, 12),), (("mode", "linear"),)),
    Example("Resize", "image - - large", ((1, 2, 12, 12),), (("antialias", 1),)),
    Example("ConvTranspose", "image weight", ((1, 2, 6, 6),), (("auto_pad", "SAME_UPPER"),)),
)
"""Other forms, which may be refused for all types; the reasons are limits of the operator."""
