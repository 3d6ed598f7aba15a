"""Inputs from the command line, and comparison with expectations."""

import numpy as np
import pytest

from pfcomp.errors import UsageError
from pfcomp.runtime.compare import compare
from pfcomp.runtime.feeds import load_array, make_input, make_inputs, parse_feeds
from pfcomp.runtime.iospec import IOSpec

SPEC = IOSpec("x", (3, 4), "Float")


def test_forms(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(12))
    assert make_input("ones", SPEC).tolist() == np.ones((3, 4)).tolist()
    assert not make_input("zeros", SPEC).any()
    assert make_input(str(tmp_path / "x.npy"), SPEC).dtype == np.float32
    assert np.array_equal(make_input("rand:7", SPEC), make_input("rand:7", SPEC))
    assert not np.array_equal(make_input("rand:7", SPEC), make_input("rand:8", SPEC))
    assert make_input("rand:1", IOSpec("b", (8,), "Bool", "Bool")).dtype == np.bool_
    assert make_input("rand:1", IOSpec("n", (8,), "Long", "Long")).dtype == np.int64


@pytest.mark.parametrize("texts", [["x"], ["=ones"], ["x="], ["x=ones", "x=zeros"]])
def test_malformed(texts):
    with pytest.raises(UsageError, match="PF0614"):
        parse_feeds(texts)


def test_a_name_may_hold_equals_signs():
    assert parse_feeds(["a=b=ones"]) == {"a=b": "ones"}


def test_missing_unknown_and_wrong_inputs(tmp_path):
    specs = {"x": SPEC, "y": SPEC}
    with pytest.raises(UsageError, match="PF0614: no value for input x, y"):
        make_inputs({}, specs)
    with pytest.raises(UsageError, match="no input z; it has x, y"):
        make_inputs({"z": "ones"}, specs)
    np.save(tmp_path / "nine.npy", np.ones(9))
    with pytest.raises(UsageError, match=r"9 elements, the program takes shape \[3, 4\]"):
        make_input(str(tmp_path / "nine.npy"), SPEC)
    with pytest.raises(UsageError, match="not a seed"):
        make_input("rand:x", SPEC)


def test_unusable_files(tmp_path):
    (tmp_path / "text.npy").write_text("no numbers")
    np.save(tmp_path / "complex.npy", np.ones(3, complex))
    np.savez(tmp_path / "many.npz", a=np.ones(3))
    for name in ("text.npy", "complex.npy", "many.npz", "missing.npy"):
        with pytest.raises(UsageError, match="PF0615"):
            load_array(tmp_path / name)


def test_comparison_report():
    got, expected = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[1.0, 2.0], [3.0, 4.0]])
    comparison = compare("out", got, expected, 1e-5, 1e-8)
    assert not comparison.held
    assert str(comparison) == (
        "out: MISMATCH in 1 of 4 elements (rtol 1e-05, atol 1e-08); worst at [1, 1]: expected 4, got 5, difference 1"
    )
    assert str(compare("out", got, got, 0, 0)) == "out: as expected (4 elements, largest difference 0)"
    assert compare("out", got, expected, 0.3, 0).held


def test_comparison_of_special_values():
    values = np.array([np.inf, -np.inf, np.nan, 0.0])
    assert compare("out", values, values.copy(), 0, 0).held
    assert compare("out", values, np.zeros(4), 1, 1).mismatches == 3
    assert compare("out", np.zeros(4), values, 1, 1).mismatches == 3
    assert compare("out", np.zeros((0, 3)), np.zeros((3, 0)), 0, 0).held
    with pytest.raises(UsageError, match="PF0616"):
        compare("out", values, np.zeros(5), 0, 0)
