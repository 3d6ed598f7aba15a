"""Runs a linear layer with random weights: naming and registering parameters, the default precision `mixed`."""

import argparse
import tempfile

import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module, storage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    torch.manual_seed(0)
    model = torch.nn.Linear(4, 4)
    model.eval()

    context = Context(MNDevice(arguments.device))
    Context.switch_context(context)
    set_tensor_name_in_module(model, "model")
    for parameter in model.parameters():
        context.register_param(parameter)

    def infer(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        with torch.no_grad():
            return {"y": model(inputs["x"])}

    sample = {"x": torch.ones(4, 4)}
    compiled_infer = context.compile(infer, sample, storage.path(tempfile.gettempdir()) / "infer")
    result_on_cpu = compiled_infer(sample)["y"].cpu()
    print(f"{result_on_cpu=}")
    assert torch.allclose(result_on_cpu, infer(sample)["y"], atol=1e-2)


if __name__ == "__main__":
    main()
