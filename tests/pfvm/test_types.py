"""Types without onnxruntime kernels: every operation is rounded to its own type."""

import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch

from pfcomp.frontend import capture, export
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.passes.runner import optimise
from pfcomp.pfvm import PFVM

HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_halves_round_after_each_operation(dtype):
    weight = torch.randn(5, 3).to(dtype)

    def function(i):
        y = torch.tanh(i["x"] @ weight) * 3.3 + i["x"].sum(1, keepdim=True)
        return {"y": y, "wide": y.float() / 3, "same": i["x"], "softmax": torch.softmax(y, 1)}

    sample = {"x": torch.randn(4, 5).to(dtype)}
    model = export(capture(function, sample))
    optimise(model)
    got = PFVM(model).run({"x": to_numpy(sample["x"])})
    for name, value in function(sample).items():
        # torch may round inside its product; a unit of the largest element is granted, everything else is exact
        assert got[name].dtype == to_numpy(value).dtype
        unit = 2.0**-7 if dtype == torch.bfloat16 else 2.0**-10
        np.testing.assert_allclose(got[name].astype(np.float32), value.float().numpy(), rtol=2 * unit, atol=4 * unit)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16])
def test_small_integers_wrap(dtype):
    sample = {"x": torch.tensor([1, 100, 120]).to(dtype)}
    model = export(capture(lambda i: {"y": i["x"] * 3 + i["x"], "c": i["x"] > 50}, sample))
    got = PFVM(model).run({"x": sample["x"].numpy()})
    assert got["y"].tolist() == (sample["x"] * 3 + sample["x"]).tolist()
    assert got["c"].tolist() == [False, True, True]


def test_float64_operations_with_single_kernels():
    sample = {"x": torch.randn(1, 2, 5, 5, dtype=torch.float64), "w": torch.randn(3, 2, 3, 3, dtype=torch.float64)}
    model = export(capture(lambda i: {"y": torch.nn.functional.conv2d(i["x"], i["w"])}, sample))
    got = PFVM(model).run({name: value.numpy() for name, value in sample.items()})["y"]
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, torch.nn.functional.conv2d(sample["x"], sample["w"]).numpy(), atol=1e-5)


def test_bfloat16_states_pass_the_border():
    text = 'f (bfloat16[2] x, bfloat16[2] s) => (bfloat16[2] y, bfloat16[2] "s:out") { y = Add(x, s) "s:out" = Neg(y) }'
    model = ir.from_proto(onnx.parser.parse_model(HEAD + text.replace('"s:out"', "s_out")))
    model.graph.outputs[1].name = "s:out"
    vm = PFVM(model)
    x = np.asarray([1.5, -2.0], dtype=ml_dtypes.bfloat16)
    assert vm.run({"x": x})["y"].tolist() == [1.5, -2.0]
    assert vm.run({"x": x})["y"].tolist() == [0.0, 0.0]
    assert vm.state["s"].dtype == ml_dtypes.bfloat16
