"""Trains an MLP on MNIST and evaluates it, both on the device; the two compiled functions share the parameters.

Leaves train_step, eval_step and checkpoint.pt, which `mnist_infer.py` reads with plain PyTorch, in --outdir.
"""

from itertools import islice

import torch
from mnist_common import TEST_BATCH, TRAIN_BATCH, Batch, Model, RunningLoss, batches, load, parse, report

from mlsdk import (
    CompiledFunction,
    Context,
    MNCoreSGD,
    MNDevice,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
    storage,
)

Tensors = dict[str, torch.Tensor]


def sample(size: int) -> Tensors:
    return {"x": torch.empty(size, 32, 32), "t": torch.zeros(size, dtype=torch.int64)}


def train(step: CompiledFunction, data: Batch, epochs: int, iterations: int | None) -> None:
    for epoch in range(epochs):
        running = RunningLoss(epoch)
        for x, t in islice(batches(data, TRAIN_BATCH, shuffled=True), iterations):
            running.add(step({"x": x, "t": t})["loss"].item())
        running.finish()


def evaluate(step: CompiledFunction, data: Batch, iterations: int | None) -> float:
    correct = count = 0
    for x, t in islice(batches(data, TEST_BATCH, shuffled=False), iterations):
        correct += int(step({"x": x, "t": t})["correct"].item())
        count += len(t)
    return report(correct, count)


def main() -> None:
    arguments = parse(__doc__, device="mncore2:auto", option_json="")
    options = {"option_json": arguments.option_json} if arguments.option_json else {}
    outdir = storage.path(arguments.outdir)

    torch.manual_seed(0)
    model = Model()
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    context = Context(MNDevice(arguments.device))
    Context.switch_context(context)
    set_tensor_name_in_module(model, "model")
    set_buffer_name_in_optimizer(optimizer, "optimizer0")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)

    def train_step(inputs: Tensors) -> Tensors:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs["x"]), inputs["t"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    def eval_step(inputs: Tensors) -> Tensors:
        with torch.no_grad():
            _, predicted = model(inputs["x"]).max(1)
        return {"correct": (predicted == inputs["t"]).sum()}

    compiled_train = context.compile(train_step, sample(TRAIN_BATCH), outdir / "train_step", options=options)
    train(compiled_train, load(arguments.data, "train"), arguments.epochs, arguments.iterations)

    context.synchronize()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, outdir / "checkpoint.pt")

    compiled_eval = context.compile(eval_step, sample(TEST_BATCH), outdir / "eval_step", options=options)
    accuracy = evaluate(compiled_eval, load(arguments.data, "test"), arguments.iterations)
    assert arguments.iterations is not None or accuracy > 0.94


if __name__ == "__main__":
    main()
