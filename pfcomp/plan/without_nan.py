"""NaN does not exist on the chip: constants must not hold it, and nothing is ever found to be NaN."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import MNNode

Constants = Mapping[str, NDArray[np.generic]]


def never_nan(nodes: tuple[MNNode, ...], constants: Constants) -> tuple[MNNode, ...]:
    """A selection of a NaN where something is NaN always takes the other operand, so that the NaN need not exist."""
    tests = {node.outputs[0] for node in nodes if node.op == "IsNaN"}

    def passes_on(node: MNNode) -> bool:
        chosen = constants.get(node.inputs[1]) if node.op == "Where" else None
        return chosen is not None and chosen.size == 1 and _holds_nan(chosen) and node.inputs[0] in tests

    return tuple(
        replace(node, inputs=(node.inputs[0], node.inputs[2], node.inputs[2])) if passes_on(node) else node
        for node in nodes
    )


def refuse_nan(nodes: tuple[MNNode, ...], outputs: tuple[str, ...], constants: Constants) -> None:
    """UnsupportedError PF0403 that lists the constants with NaN that are read."""
    read = {name for node in nodes for name in node.inputs} | set(outputs)
    bad = [name for name, array in constants.items() if name in read and _holds_nan(array)]
    if bad:
        raise UnsupportedError("PF0403", f"constants hold NaN: {', '.join(bad)}", hint="the chip has no NaN")


def _holds_nan(array: NDArray[np.generic]) -> bool:
    return array.dtype.kind == "f" and bool(np.isnan(array).any())
