"""Every operator family: outputs and gradients against eager torch, and onnxruntime before and after each pass."""

import pytest
import torch

from pfcomp.frontend import capture, export
from pfcomp.frontend.names import set_tensor_name
from pfcomp.frontend.tolerance import relative_error, tolerance
from pfcomp.frontend.torch_tensor import to_numpy
from pfcomp.pfvm import PFVM
from tests.frontend.op_cases import CASES
from tests.passes.agreement import agreeing


def training_function(function, tensors):
    """Scales named tensors by the input, applies the function and returns its result and all gradients."""
    leaves = [tensor.clone().requires_grad_(True) for tensor in tensors]
    for number, leaf in enumerate(leaves):
        set_tensor_name(leaf, f"w{number}")

    def step(inputs):
        result = function(*(leaf * inputs["scale"] for leaf in leaves))
        weights = torch.ones_like(result) * inputs["scale"] + torch.arange(result.numel()).reshape(result.shape) * 0.1
        result.backward(weights)
        gradients = {f"g{n}": leaf.grad for n, leaf in enumerate(leaves) if leaf.grad is not None}
        return {"result": result, **gradients}

    return step


@pytest.mark.parametrize("name", CASES)
def test_forward_and_backward_equal_torch(name):
    step = training_function(*CASES[name])
    sample = {"scale": torch.tensor(1.25)}
    model = export(capture(step, sample, repeat=False))
    assert all(value.dtype is not None for node in model.graph for value in node.outputs)
    feeds = {"scale": sample["scale"].numpy()}
    assert agreeing(model, feeds)
    got = PFVM(model).run(feeds)
    expected = step(sample)
    dtype = "float16" if name == "half" else "bfloat16" if name == "bf16" else "float32"
    for key, value in expected.items():
        assert relative_error(got[key], to_numpy(value)) <= tolerance(dtype, 64), key
