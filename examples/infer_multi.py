"""Two models in one context: each compiled function finds its own weights by their names."""

import argparse
import tempfile

import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module, storage


def constant_linear(value: float) -> torch.nn.Linear:
    model = torch.nn.Linear(4, 4, bias=False)
    torch.nn.init.constant_(model.weight, value)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2 or pfvm:cpu")
    arguments = parser.parse_args()

    context = Context(MNDevice(arguments.device))
    Context.switch_context(context)
    sample = {"x": torch.ones(4, 4)}
    folder = storage.path(tempfile.gettempdir()) / "infer_multi"
    models = {"first": constant_linear(1.0), "second": constant_linear(2.0)}
    compiled = {}
    for name, model in models.items():
        set_tensor_name_in_module(model, name)
        for parameter in model.parameters():
            context.register_param(parameter)
        for buffer in model.buffers():
            context.register_buffer(buffer)

        def infer(inputs: dict[str, torch.Tensor], model: torch.nn.Module = model) -> dict[str, torch.Tensor]:
            with torch.no_grad():
                return {"y": model(inputs["x"])}

        compiled[name] = context.compile(infer, sample, folder / name)

    for name, expected in {"first": 4.0, "second": 8.0}.items():
        result_on_cpu = compiled[name](sample)["y"].cpu()
        print(f"{name}: {result_on_cpu=}")
        assert torch.allclose(result_on_cpu, torch.full((4, 4), expected))


if __name__ == "__main__":
    main()
