"""Steps of single operators: no more than bench/operators.py printed, in layouts of choice and in published ones."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"

MOST = {
    "relu": (2, 3),
    "relu gradient": (3, 3),
    "add bias": (2, 3),
    "subtract by row": (2, 49),
    "exp": (21, 45),
    "divide by row": (18, 68),
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
