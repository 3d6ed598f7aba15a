"""Moves data explicitly: input tensors that stay on the device, and new values for a registered parameter."""

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
    context = Context(MNDevice(arguments.device))
    Context.switch_context(context)
    set_tensor_name_in_module(model, "model")
    for parameter in model.parameters():
        context.register_param(parameter)

    def infer(inputs: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        with torch.no_grad():
            return {"y": model(inputs["x"])}

    folder = storage.path(tempfile.gettempdir()) / "explicit_data_transfer_api"
    compiled_infer = context.compile(infer, {"x": torch.empty(4, 4)}, folder)

    inputs = compiled_infer.allocate_input_proxy()
    inputs["x"].load_from(torch.ones(4, 4))
    result_on_cpu = compiled_infer(inputs)["y"].cpu()
    print(f"{result_on_cpu=}")

    # the compiled function sees a change of the host's parameter only after it was sent to the device
    with torch.no_grad():
        model.bias.zero_()
    bias_proxy = context.get_registered_value_proxy(model.bias)
    bias_proxy.load_from(model.bias, clone=False)
    result_without_bias = compiled_infer(inputs)["y"].cpu()
    print(f"{result_without_bias=}")
    assert torch.allclose(result_without_bias, infer({"x": torch.ones(4, 4)})["y"], atol=1e-2)


if __name__ == "__main__":
    main()
