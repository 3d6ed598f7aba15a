"""Single moves: what they take at most (backend-movement.md 8), and values of odd sizes, gaps and padding."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from pfcomp.ir.model import Location
from pfcomp.layout import Layout
from pfcomp.relayout.api import Form
from pfcomp.relayout.exchange import exchange_plan
from tests.relayout.pairs import check

LM0, LM1 = Location.LM0, Location.LM1

GOLDEN = {
    "copy": ((64,), "((64:1))", "((8:1,8:8))", ["Copy"], 16),
    "copy in pairs": ((64,), "((64:1))", "((32:2,2:1))", ["Copy"], 8),
    "words": ((32,), "((32:1))", "((16:1,2_W:1))", ["Words"], 8),
    "f transpose": ((64, 8), "((64:1),(4_PE:1,2_W:1))", "((4_PE:1,2_W:1,8:8),(8:1))", ["Transpose"], 18),
    "d transpose": ((64, 4), "((64:1),(4_PE:1))", "((4_PE:1,16:4),(4:1))", ["Transpose"], 17),
    "select": ((8, 16), "((8:1),(16:8))", "((8:1),(16_MAB:1))", ["Select"], 8),
    "rotate 1": ((16, 2), "((2:1,8:2),(2_MAB:8))", "((2_MAB:8,8:2),(2:1))", ["Rotate"], 21),
    "rotate 2": ((64, 4), "((4:1,16:4),(4_MAB:4))", "((4_MAB:4,16:4),(4:1))", ["Rotate"], 54),
    "rotate 3": ((64, 8), "((8:1,8:8),(8_MAB:2))", "((8_MAB:2,8:8),(8:1))", ["Rotate"], 72),
    "rotate 4": ((128, 16), "((16:1,8:16),(16_MAB:1))", "((16_MAB:1,8:16),(16:1))", ["Rotate"], 141),
    "gather MABs": ((8, 16), "((8:1),(16_MAB:1))", "((8:16),(16:1))", ["Through"], 22),
    "gather PEs": ((2, 64), "((2:1),(16_MAB:1,4_PE:1))", "((2:64),(8:8,2:1,4:2))", ["Through"], 22),
    "gather L1Bs": ((4, 8, 16), "((4:1),(8_L1B:1),(16_MAB:1))", "((4:8),(8:1),(16_MAB:1))", ["Through"], 72),
    "L1Bs and MABs": (
        (8, 16, 16),
        "((8_L1B:1),(16:1),(16_MAB:1))",
        "((8_MAB:2),(16:1),(8_L1B:1,2_MAB:1))",
        ["Interleave"],
        168,
    ),
    "gather L2Bs": ((8, 8, 16), "((8_L2B:1),(8_L1B:1),(16_MAB:1))", "((8:8),(8:1),(16_MAB:1))", ["Through"], 95),
}


def _forms(shape, source, target, bits=32):
    return Form(shape, bits, Layout.parse(source)), Form(shape, bits, Layout.parse(target))


@pytest.mark.parametrize("name", GOLDEN)
def test_golden(name: str) -> None:
    shape, source, target, moves, most = GOLDEN[name]
    forms = _forms(shape, source, target)
    plan = exchange_plan(*forms)
    assert [type(move).__name__ for move in plan.moves] == moves
    assert check(*forms, plan) <= most


@pytest.mark.parametrize("where", [(LM0, LM0), (LM0, LM1), (LM1, LM0), (LM1, LM1)])
@pytest.mark.parametrize(
    ("shape", "source", "target", "bits"),
    [
        ((7, 3, 5), "((7_MAB:1),(3:1),(5:3))", "((7:20),(3_L1B:1),(5:2))", 32),
        ((13, 6), "((2:1,7:2),(3_PE:1,2_W:1))", "((2_PE:1,7_MAB:2),(3:2,2:1))", 32),
        ((13, 6), "((2:1,7:2),(3_PE:1,2:14))", "((2_PE:1,7_MAB:2),(3:2,2:1))", 64),
        ((5, 16), "((5_L2B:1),(4_MAB:4,4:1))", "((5:16),(4:1,4_MAB:4))", 32),
        ((4, 64), "((4:1),(4_L1B:2,16_MAB:1))", "((4_L2B:2),(4:1,16:4))", 32),
        ((2, 4, 8), "((2_L2B:1),(4_L2B:2),(8:1))", "((2:1),(4_L2B:2),(2_L2B:1,4:2))", 32),
        ((10, 3), "((10:1),(3:10))", "((2:3,8_MAB:1),(3:1))", 32),
        ((10, 3), "((2:1,8_MAB:2),(4_PE:1))", "((10:3),(3:1))", 32),
        ((5, 12), "((8_L1B:1),(2:1,2:2,4_PE:1))", "((5:3),(3:1,4_MAB:1))", 32),
        ((5, 12), "((5_MAB:1),(12:1))", "((3:4,2_PE:1),(3_L1B:1,4:1))", 64),
        ((6, 9), "((6:1),(9:6))", "((2_PE:1,3:1),(9:3))", 64),
    ],
)
def test_padding_and_gaps(shape, source, target, bits, where) -> None:
    forms = _forms(shape, source, target, bits)
    check(*forms, exchange_plan(*forms), where, (4, 16))


def test_copies_lie_in_the_address_of_a_new_layout_only_once() -> None:
    """A digit that holds copies before and is padding afterwards costs nothing."""
    forms = _forms((4, 8), "((4:1),(8:4))", "((4:1),(8_MAB:2))")
    plan = exchange_plan(*forms)
    assert [type(move).__name__ for move in plan.moves] == ["Select"]
    assert check(*forms, plan) <= 7


@pytest.mark.parametrize(
    ("shape", "source", "target", "bits"),
    [
        ((56,), "((7:1,8_MAB:1))", "((8_MAB:1,7:1))", 32),
        ((4,), "((4:1))", "((4_PE:1))", 16),
        ((4, 4), "((4:1),(4_Time:1))", "((4_PE:1),(4:1))", 32),
        ((9,), "((3:1,3_MAB:3))", "((9:1))", 32),
    ],
)
def test_no_exchange_of_digits(shape, source, target, bits) -> None:
    assert exchange_plan(*_forms(shape, source, target, bits)) is None


def test_forms_of_different_values_have_no_plan() -> None:
    one, other = _forms((4,), "((4:1))", "((4_PE:1))")
    assert exchange_plan(one, Form((2, 2), 32, Layout.parse("((2:1),(2:2))"))) is None
    assert exchange_plan(one, Form(other.shape, 64, other.layout)) is None


SCRIPT = """
from tests.relayout.test_moves import GOLDEN, _forms
from pfcomp.relayout.exchange import exchange_plan
for shape, source, target, *_ in GOLDEN.values():
    print(exchange_plan(*_forms(shape, source, target)).moves)
"""


def test_plans_do_not_depend_on_hashing() -> None:
    printed = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(printed) == 1
    assert "Rotate" in printed.pop()
