"""Steps of single operators: no more than bench/operators.py printed, in layouts of choice and in published ones."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"

MOST = {
    "256x1024 . (16x1024)T": (32, 58),
    "256x16 . (16x16)T": (8, 12),
    "256x16 . 16x16": (8, 25),
    "(256x16)T . 256x16": (21, 40),
    "(256x16)T . 256x1024": (24, 123),
    "relu": (2, 3),
    "relu gradient": (3, 3),
    "add bias": (2, 3),
    "subtract by row": (2, 44),
    "exp": (21, 45),
    "divide by row": (18, 65),
    "maximum of rows": (10, 36),
    "sum of rows": (9, 35),
    "sum of columns": (11, 14),
    "one-hot": (3, 40),
}
"""By operator: free and given steps."""


@pytest.fixture
def operators(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("operators")


@pytest.mark.parametrize("name", MOST)
def test_an_operator_takes_no_more_steps_than_measured(operators: ModuleType, name: str) -> None:
    (operator,) = (o for o in operators.OPERATORS if o.name == name)
    found = operators.measure(operator)
    free, given = MOST[name]
    assert found["free"]["steps"] <= free
    assert found["given"]["steps"] <= given
