"""Element-wise nodes on 32-bit and 64-bit values together, repeated along axes, fused and alone; with onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.plan.test_rules import Case, f
from tests.programs.general import BOOL, DOUBLE, FLOAT, LONG, agree
from tests.programs.general import Node as N

RNG = np.random.default_rng(8)


def longs(*shape: int) -> np.ndarray:
    return RNG.integers(-4, 5, shape)


CASES: dict[str, Case] = {
    "indices compared with a row": Case(
        (N("Equal", "ij", "e"), N("Where", "exy", "w")),
        {"i": longs(9, 1), "j": longs(1, 14), "x": f(9, 14), "y": f(14)},
        {"e": BOOL, "w": FLOAT},
    ),
    "a 64-bit selection by a column of truth values": Case(
        (N("Less", "xy", "c"), N("Where", "cij", "w")),
        {"x": f(9, 1), "y": f(1), "i": longs(9, 14), "j": longs(14)},
        {"w": LONG},
    ),
    "both widths in a chain": Case(
        (
            N("Cast", "x", "i", {"to": LONG}), N("Add", "ij", "k"), N("Cast", "k", "y", {"to": FLOAT}),
            N("Mul", "yx", "z"),
        ),
        {"x": 9 * f(6, 35), "j": longs(35)},
        {"k": LONG, "z": FLOAT},
    ),
    "a 64-bit result repeated from 32-bit operands": Case(
        (N("Add", "xy", "s"), N("Cast", "s", "d", {"to": DOUBLE}), N("Mul", "dz", "o")),
        {"x": f(5, 1), "y": f(8), "z": RNG.standard_normal((3, 5, 8))},
        {"o": DOUBLE},
        tolerance=1e-6,
    ),
    "a 64-bit operand with a single element": Case(
        (N("Equal", "ij", "e"), N("Cast", "e", "y", {"to": FLOAT}), N("Sub", "xy", "o")),
        {"i": longs(70), "j": longs(1), "x": f(3, 70)},
        {"o": FLOAT},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("scheduler", ["default", "always_from_dram"])
def test_agrees_with_onnxruntime(name: str, scheduler: str, tmp_path: Path) -> None:
    case = CASES[name]
    chosen = {} if scheduler == "default" else {"scheduler": scheduler}
    options = {"float_dtype": "float", **chosen}
    agree(tmp_path, case.nodes, case.inputs, case.outputs, case.constants, options, case.tolerance)
