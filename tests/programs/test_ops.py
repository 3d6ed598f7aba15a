"""Operators of PyTorch, forward and backward, on the emulated chip against the reference executor."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from pfcomp.errors import UnsupportedError
from tests.frontend.op_cases import CASES
from tests.frontend.test_ops import training_function
from tests.frontend.zoo.program import Phase, Program
from tests.programs.zoo import on_device, tolerance

REDUCTION = 64
LEFT_OUT = {
    "asin": "operands outside the domain: the reference has NaN there, which the chip has not",
    "acos": "operands outside the domain",
}
REFUSED = {"erfinv": "Erf"}
SHORT = {"half": 2.0**-11, "bf16_autocast": 2.0**-8}
"""Unit roundoff of cases whose reference rounds to half precision or bfloat16."""
QUICK = (
    *("glu", "where", "cumprod", "topk", "sort", "unfold", "index2", "scatter_add", "setitem", "embedding"),
    *("ce", "kl", "maxpool_ceil", "fold", "sdpa_causal", "up_bilinear", "argmax", "double", *SHORT),
)
"""Quick cases, at least one for every kind of kernel; all others are slow together."""


def program(name: str) -> Program:
    step = training_function(*CASES[name])
    return Program(name, (Phase("step", step, [{"scale": torch.tensor(1.25)}]),), REDUCTION)


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in CASES
        if name not in {**LEFT_OUT, **REFUSED}
    ],
)
def test_forward_and_backward_agree(name: str, tmp_path: Path) -> None:
    case = program(name)
    assert on_device(case, tmp_path).error <= tolerance(case, "float") + 4 * SHORT.get(name, 0.0)


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_with_the_reason(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError) as caught:
        on_device(program(name), tmp_path)
    assert caught.value.code == "PF0401"
    assert REFUSED[name] in caught.value.what
    assert "op_cases.py" in caught.value.what
