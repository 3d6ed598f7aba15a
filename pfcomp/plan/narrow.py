"""Integers of 8 and 16 bits are held in 32 bits: results that may leave their range are brought back into it.

A result is computed under another name, and the low bits of that are the result: `& mask` for unsigned types, and for
signed ones `((x & mask) ^ sign) - sign`. Both are ONNX operators, and they are fused with what stands around them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.element_types import ELEMENT_TYPES, ElementType
from pfcomp.ir.model import MNNode

INSIDE = frozenset(
    [
        *("Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Transpose", "Expand", "Tile", "Slice", "Split"),
        *("Concat", "Pad", "Gather", "GatherElements", "GatherND", "DepthToSpace", "SpaceToDepth", "OneHot", "Trilu"),
        *("Where", "Max", "Min", "Clip", "Relu", "Sign", "ReduceMax", "ReduceMin", "TopK", "MaxPool", "Mod"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
    ]
)
"""Operators whose results lie in the range of their operands, whatever these are."""

HOLDER = "INT32"


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A graph with results brought back into their range: its nodes, and what they need besides.

    `wide` has for each new value the tensor from which it takes its shape.
    """

    nodes: tuple[MNNode, ...]
    wide: dict[str, str]
    constants: dict[str, NDArray[np.generic]]


def wrap(nodes: Iterable[MNNode], elements: Mapping[str, str]) -> Wrapped:
    """`elements` has the ONNX element type of every tensor."""
    found = Wrapped((), {}, {})
    return replace(found, nodes=tuple(_wrapped(nodes, elements, found)))


def _wrapped(nodes: Iterable[MNNode], elements: Mapping[str, str], found: Wrapped) -> Iterator[MNNode]:
    for node in nodes:
        narrow = {name: kind for name in node.outputs if (kind := _narrow(elements.get(name, ""))) is not None}
        if node.op in INSIDE or not narrow:
            yield node
            continue
        yield replace(node, outputs=tuple(f"{name}.wide" if name in narrow else name for name in node.outputs))
        for name, kind in narrow.items():
            yield from _brought_back(node, name, kind, found)


def _narrow(element: str) -> ElementType | None:
    kind = ELEMENT_TYPES.get(element)
    return kind if kind is not None and kind.bits else None


def _brought_back(node: MNNode, name: str, kind: ElementType, found: Wrapped) -> Iterator[MNNode]:
    sign = 1 << (kind.bits - 1)
    steps = [("BitwiseAnd", "mask", 2 * sign - 1)]
    if kind.signed:
        steps += [("BitwiseXor", "sign", sign), ("Sub", "sign", sign)]
    operand = f"{name}.wide"
    found.wide[operand] = name
    for number, (op, role, constant) in enumerate(steps, 1):
        result = name if number == len(steps) else f"{name}.wrap{number}"
        if result != name:
            found.wide[result] = name
        found.constants[f"{kind.name}.{role}"] = np.array(constant, np.int32)
        yield MNNode(f"{node.name}.{result}.{op}", op, (operand, f"{kind.name}.{role}"), (result,), (), node.source)
        operand = result
