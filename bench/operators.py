"""Steps of the operators of a small training against figures that others published for hand-written code: prints JSON.

All matrix products are pseudo-single (option allow_g), everything else is single. Operands lie in local memory and
results stay there. `free`: the kernel chooses the layouts; `given`: the layouts of the published code (mlsdk.md 4.4) as
far as they are known, moves between layouts included. `moving`, `computing`, `nops`: steps with a transfer, with
arithmetic, with nothing; `bound`: steps that the busiest unit (`critical`) needs.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from resident import Function, Resident, Tensors

from pfcomp.isa.pack import Stats
from pfcomp.layout import Layout

OPTIONS = {"float_dtype": "float", "allow_g": True}

SPREAD = "((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))"
HALVES = "((8_L2B:1, 32:2), (2:1, 4_PE:1, 2_W:1))"
GROUPS = "((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))"
PER_ROW = "((4_L2B:2, 32:1, 2_W:1))"
SMALL = "((16:2), (2:1, 4_PE:1, 2_W:1))"
PER_COLUMN = "((2:1, 4_PE:1, 2_W:1))"
WIDE = "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))"

Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class Operator:
    """`published` and `target` in steps; `layouts` by the names of operands and of the result `out`."""

    name: str
    published: int
    target: int
    function: Function
    shapes: Shapes
    layouts: Mapping[str, str]
    integers: frozenset[str] = field(default_factory=frozenset)

    def sample(self) -> Tensors:
        return {n: torch.zeros(s, dtype=torch.int32 if n in self.integers else None) for n, s in self.shapes.items()}


def product(x: Tensors) -> Tensors:
    return {"out": x["a"] @ x["b"]}


def right_transposed(x: Tensors) -> Tensors:
    return {"out": x["a"] @ x["b"].T}


def left_transposed(x: Tensors) -> Tensors:
    return {"out": x["a"].T @ x["b"]}


def relu(x: Tensors) -> Tensors:
    return {"out": torch.relu(x["a"])}


def relu_grad(x: Tensors) -> Tensors:
    return {"out": torch.where(x["a"] > 0, x["b"], 0.0)}


def add(x: Tensors) -> Tensors:
    return {"out": x["a"] + x["b"]}


def row_sub(x: Tensors) -> Tensors:
    return {"out": x["a"] - x["b"][:, None]}


def row_div(x: Tensors) -> Tensors:
    return {"out": x["a"] / x["b"][:, None]}


def exponential(x: Tensors) -> Tensors:
    return {"out": torch.exp(x["a"])}


def row_max(x: Tensors) -> Tensors:
    return {"out": x["a"].amax(1)}


def row_sum(x: Tensors) -> Tensors:
    return {"out": x["a"].sum(1)}


def column_sum(x: Tensors) -> Tensors:
    return {"out": x["a"].sum(0)}


def one_hot(x: Tensors) -> Tensors:
    return {"out": (x["a"][:, None] == torch.arange(16, dtype=torch.int32)).float()}


ROWS = {"a": (256, 16)}
OPERATORS = (
    Operator("256x1024 . (16x1024)T", 123, 70, right_transposed, {"a": (256, 1024), "b": (16, 1024)},
             {"b": WIDE, "out": SPREAD}),
    Operator("256x16 . (16x16)T", 24, 24, right_transposed, {**ROWS, "b": (16, 16)},
             {"a": SPREAD, "b": SMALL, "out": SPREAD}),
    Operator("256x16 . 16x16", 40, 40, product, {**ROWS, "b": (16, 16)}, {"a": SPREAD, "b": SMALL, "out": SPREAD}),
    Operator("(256x16)T . 256x16", 85, 85, left_transposed, {**ROWS, "b": (256, 16)},
             {"a": SPREAD, "b": SPREAD, "out": SMALL}),
    Operator("(256x16)T . 256x1024", 139, 139, left_transposed, {**ROWS, "b": (256, 1024)},
             {"a": SPREAD, "out": WIDE}),
    Operator("relu", 2, 2, relu, ROWS, {"a": SPREAD, "out": SPREAD}),
    Operator("relu gradient", 3, 3, relu_grad, {**ROWS, "b": (256, 16)}, dict.fromkeys(("a", "b", "out"), SPREAD)),
    Operator("add bias", 3, 3, add, {**ROWS, "b": (16,)}, {"a": SPREAD, "b": PER_COLUMN, "out": SPREAD}),
    Operator("subtract by row", 64, 64, row_sub, {**ROWS, "b": (256,)}, {"a": GROUPS, "b": PER_ROW, "out": GROUPS}),
    Operator("exp", 65, 65, exponential, ROWS, {"a": HALVES, "out": HALVES}),
    Operator("divide by row", 137, 60, row_div, {**ROWS, "b": (256,)}, {"a": GROUPS, "b": PER_ROW, "out": GROUPS}),
    Operator("maximum of rows", 170, 60, row_max, ROWS, {"a": GROUPS, "out": PER_ROW}),
    Operator("sum of rows", 160, 60, row_sum, ROWS, {"a": GROUPS, "out": PER_ROW}),
    Operator("sum of columns", 12, 12, column_sum, ROWS, {"a": SPREAD, "out": PER_COLUMN}),
    Operator("one-hot", 288, 80, one_hot, {"a": (256,)}, {"a": PER_ROW, "out": GROUPS}, frozenset("a")),
)  # fmt: skip


def figures(stats: Stats) -> dict[str, Any]:
    shown = {k: getattr(stats, k) for k in ("steps", "moving", "computing", "nops", "bound", "critical")}
    return {**shown, "dram moves": stats.counts.moves}


def measure(operator: Operator) -> dict[str, Any]:
    resident = Resident.of(operator.function, operator.sample(), OPTIONS)
    binding, free = resident.best()
    given = resident.planned({name: Layout.parse(text) for name, text in operator.layouts.items()})
    return {
        "operator": operator.name,
        "published": operator.published,
        "target": operator.target,
        "free": {**figures(free), "layouts": [str(x) for x in (*binding.inputs, *binding.outputs)]},
        "given": figures(given),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="operators whose name contains this")
    arguments = parser.parse_args()
    chosen = [operator for operator in OPERATORS if arguments.only in operator.name]
    print(json.dumps([measure(operator) for operator in chosen], indent=1))


if __name__ == "__main__":
    main()
