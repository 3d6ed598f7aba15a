"""Trains a linear layer for ten steps on the device; the host's parameters change at `synchronize`."""

import argparse
import tempfile

import torch

from mlsdk import (
    Context,
    MNCoreSGD,
    MNDevice,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
    storage,
)


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(10, 1)
        for parameter in self.parameters():
            torch.nn.init.ones_(parameter)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x)).sum()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    model = Model()
    model.train()
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)

    context = Context(MNDevice(arguments.device))
    Context.switch_context(context)
    set_tensor_name_in_module(model, "model")
    set_buffer_name_in_optimizer(optimizer, "optimizer0")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)

    def train_step(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        loss = model(inputs["x"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    sample = {"x": torch.ones(1, 10)}
    compiled_step = context.compile(train_step, sample, storage.path(tempfile.gettempdir()) / "train")
    print(f"Original {model.linear.bias=}")
    for _ in range(10):
        compiled_step(sample)
    context.synchronize()
    print(f"Optimized {model.linear.bias=}")


if __name__ == "__main__":
    main()
