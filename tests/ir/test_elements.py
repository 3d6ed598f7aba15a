"""Element conversions between host and device types."""

import numpy as np
import pytest

from pfcomp.ir.elements import CARRIERS, decode, encode


@pytest.mark.parametrize(
    ("dtype", "torch_dtype", "values"),
    [
        ("Float", "Float", [1.5, -2.0]),
        ("Float", "BFloat16", [1.5, -2.0]),
        ("Half", "Half", [1.5, -2.0]),
        ("Half", "Float", [1.5, -2.0]),
        ("Double", "Double", [0.1, -2.0]),
        ("Int", "Byte", [200, 7]),
        ("Int", "Char", [-100, 7]),
        ("Long", "Long", [2**40, -7]),
        ("Bool", "Bool", [True, False]),
    ],
)
def test_types_round_trip(dtype, torch_dtype, values):
    carriers = encode(np.array(values), dtype)
    assert carriers.dtype == CARRIERS[dtype]
    assert decode(carriers, dtype, torch_dtype).tolist() == values


def test_bool_is_a_word_of_one_or_zero():
    assert encode(np.array([3, 0, -1]), "Bool").tolist() == [1, 0, 1]
    assert decode(np.array([7, 0], np.uint32), "Bool", "Bool").tolist() == [True, False]


def test_halves_are_rounded_and_saturate():
    assert [f"{b:04x}" for b in encode(np.array([1.0, 1e-12, -5e9]), "Half")] == ["3e00", "0000", "fe00"]
