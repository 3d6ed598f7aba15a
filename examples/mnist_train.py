"""The training of `mnist.py` in plain PyTorch, for comparison; leaves checkpoint.pt in --outdir."""

from itertools import islice

import torch
from mnist_common import TRAIN_BATCH, Model, RunningLoss, batches, load, parse


def main() -> None:
    arguments = parse(__doc__)
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)
    data = load(arguments.data, "train")
    for epoch in range(arguments.epochs):
        running = RunningLoss(epoch)
        for x, t in islice(batches(data, TRAIN_BATCH, shuffled=True), arguments.iterations):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), t)
            loss.backward()
            optimizer.step()
            running.add(loss.item())
        running.finish()
    arguments.outdir.mkdir(parents=True, exist_ok=True)
    checkpoint = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(checkpoint, arguments.outdir / "checkpoint.pt")


if __name__ == "__main__":
    main()
