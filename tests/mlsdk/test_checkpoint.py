"""A checkpoint of a model that was trained on the device is an ordinary one: it needs nothing of ours."""

import os
import subprocess
import sys

import torch

from mlsdk import Context, MNCoreSGD, MNDevice

OPTIONS = {"float_dtype": "float"}
STEPS = 6

PLAIN = """
import sys
import torch
from torch import nn
model = nn.Sequential(nn.Linear(16, 12), nn.ReLU(), nn.Linear(12, 4))
saved = torch.load(sys.argv[1], weights_only=True)
model.load_state_dict(saved["model"])
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
model.eval()
with torch.no_grad():
    torch.save(model(saved["x"]), sys.argv[2])
assert not [name for name in sys.modules if name.startswith(("mlsdk", "pfcomp"))]
"""


def test_a_checkpoint_loads_in_plain_torch(tmp_path):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 12), torch.nn.ReLU(), torch.nn.Linear(12, 4))
    first = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    context = Context(MNDevice("emu2"))
    context.registry.register("model", model)
    context.registry.register("optimizer", optimizer)

    def train(inputs):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs["x"]), inputs["y"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    def evaluate(inputs):
        return {"y": model(inputs["x"])}

    x, y = torch.randn(8, 16), torch.randn(8, 4)
    step = context.compile(train, {"x": x, "y": y}, tmp_path / "train", options=OPTIONS)
    losses = [float(step({"x": x, "y": y})["loss"].cpu()) for _ in range(STEPS)]
    assert losses[-1] < losses[0]
    predict = context.compile(evaluate, {"x": x}, tmp_path / "eval", options=OPTIONS, training=False)
    on_device = predict({"x": x})["y"].cpu()
    assert all(torch.equal(value, first[name]) for name, value in model.state_dict().items())
    context.synchronize()
    assert not any(torch.equal(value, first[name]) for name, value in model.state_dict().items())

    checkpoint, results = tmp_path / "checkpoint.pt", tmp_path / "results.pt"
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "x": x}, checkpoint)
    command = [sys.executable, "-c", PLAIN, str(checkpoint), str(results)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    in_torch = torch.load(results, weights_only=True)
    # single precision with sums of at most 16 products, of magnitude 1, in another order
    assert torch.allclose(on_device, in_torch, rtol=0, atol=16 * 2**-24 * 8)
    assert not torch.allclose(on_device, torch.zeros(()), atol=0.01)
