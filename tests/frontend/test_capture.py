"""Capture and export of functions: names, order, constants, views, dtypes; results compared with eager torch."""

import warnings

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch

from pfcomp.frontend import capture, export
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.passes.runner import optimise
from pfcomp.pfvm import PFVM


def check(function, sample, rtol=1e-6, atol=1e-6):
    """Capture, export, optimise with verification; compare onnxruntime before and after with eager torch."""
    expected = function({k: v.clone() for k, v in sample.items()})
    captured = capture(function, sample)
    model = export(captured)
    onnx.checker.check_model(ir.to_proto(model), full_check=True)
    inputs = {k: to_numpy(v) for k, v in sample.items()}
    raw = PFVM(model).run(inputs)
    optimise(model, verify=True)
    final = PFVM(model).run(inputs)
    assert list(final) == list(expected)
    for name, value in expected.items():
        for got in (raw[name], final[name]):
            assert got.shape == tuple(value.shape)
            assert str(got.dtype) == str(value.dtype).removeprefix("torch.")
            np.testing.assert_allclose(got, to_numpy(value), rtol=rtol, atol=atol)
    return captured, model


def test_add_keeps_the_users_names_and_order():
    captured, model = check(lambda i: {"out": i["y"] + i["x"]}, {"x": torch.ones(3, 4), "y": torch.ones(3, 4)})
    assert [v.name for v in model.graph.inputs] == ["x", "y"]
    assert [v.name for v in model.graph.outputs] == ["out"]
    assert [(n.op_type, n.name) for n in model.graph] == [("Add", "out")]
    assert captured.nodes[0].source.startswith("test_capture.py:")
    assert next(iter(model.graph)).metadata_props["pfcomp.source"] == captured.nodes[0].source


def test_unused_inputs_stay_in_place():
    _, model = check(lambda i: {"o": -i["b"]}, {"a": torch.ones(2), "b": torch.ones(2), "c": torch.ones(1)})
    assert [v.name for v in model.graph.inputs] == ["a", "b", "c"]


def test_an_input_as_output_and_the_same_output_twice():
    def function(i):
        total = i["x"] + 1
        return {"same": i["x"], "first": total, "second": total}

    check(function, {"x": torch.randn(2, 3)})


def test_an_empty_result_is_allowed_to_have_no_outputs():
    captured = capture(lambda i: {}, {"x": torch.ones(1)})
    assert captured.outputs == ()


def test_closed_over_tensors_and_numbers_are_constants():
    weight, scale, number = torch.randn(4), 3, torch.tensor(2.5)

    def function(i):
        return {"o": i["x"] * weight + scale * weight[1:2] - number.item(), "w": weight}

    captured, _ = check(function, {"x": torch.randn(3, 4)})
    assert captured.constants


def test_node_names_do_not_collide_with_the_users():
    def function(i):
        add = i["mul"] + i["add"]
        return {"mul_1": add * 2, "float_2": add - 2.0}

    check(function, {"mul": torch.randn(2), "add": torch.randn(2)})


def test_in_place_updates_of_views_are_functional():
    def function(i):
        y = i["x"].clone()
        y[1].mul_(3)
        y[:, ::2] += 1
        y.t()[0] = 7
        return {"y": y}

    check(function, {"x": torch.randn(3, 5)})


def test_the_function_may_change_its_mapping():
    def function(i):
        i["extra"] = (None, 1)
        x = i.pop("x")
        return {"o": x + 1}

    sample = {"x": torch.ones(2)}
    capture(function, sample)
    assert list(sample) == ["x"]


def test_strides_and_values_of_the_sample_do_not_matter():
    def function(i):
        return {"o": i["x"].reshape(-1) * 2}

    dense = capture(function, {"x": torch.zeros(3, 4)})
    spread = capture(function, {"x": torch.ones(1, 4).expand(3, 4)})
    assert dense == spread


def test_scalars_and_empty_tensors():
    check(
        lambda i: {"o": i["x"] * 2, "p": i["e"] + 1, "s": i["e"].sum()}, {"x": torch.tensor(3.0), "e": torch.ones(0, 3)}
    )


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int32, torch.int64, torch.uint8, torch.bool])
def test_dtypes_are_kept(dtype):
    check(lambda i: {"same": i["x"], "view": i["x"].t()}, {"x": torch.ones(2, 3).to(dtype)})


def test_promotion_follows_torch():
    def function(i):
        return {
            "int_plus_float": i["n"] + 1.5,
            "float_plus_int": i["x"] + i["n"],
            "half_plus_scalar": i["h"] * i["s"],
            "compare": i["n"] > 1.5,
            "bool": (i["n"] == 2) + i["n"],
            "uint8": i["u"] / 255.0,
            "div": i["n"] / 2,
            "floor": i["n"] // 2,
            "negative_floor": (-i["n"]) // 2,
            "rest": (-i["n"]) % 3,
        }

    sample = {
        "n": torch.tensor([1, 2, 3]),
        "x": torch.randn(3),
        "h": torch.ones(3, dtype=torch.float16),
        "s": torch.tensor(2.0),
        "u": torch.tensor([1, 2, 255], dtype=torch.uint8),
    }
    check(function, sample)


def test_no_warning_leaves_the_capture():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        capture(lambda i: {"o": torch.softmax(i["x"], 0)}, {"x": torch.ones(3)})


def test_the_users_function_runs_at_most_twice():
    calls = []

    def function(i):
        calls.append(1)
        return {"o": i["x"] + 1}

    capture(function, {"x": torch.ones(1)})
    assert 1 <= len(calls) <= 2


def test_modules_in_inference():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 3)).eval()
    captured, _ = check(lambda i: {"o": model(i["x"])}, {"x": torch.randn(5, 4)}, rtol=1e-5, atol=1e-6)
    assert all(p.grad is None for p in model.parameters())
    assert len(captured.constants) == 4
