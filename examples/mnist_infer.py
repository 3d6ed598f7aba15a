"""Evaluates the checkpoint that `mnist.py` or `mnist_train.py` left in --outdir, in plain PyTorch."""

from itertools import islice

import torch
from mnist_common import TEST_BATCH, Model, batches, load, parse, report


def main() -> None:
    arguments = parse(__doc__)
    model = Model()
    model.load_state_dict(torch.load(arguments.outdir / "checkpoint.pt")["model"])
    model.eval()
    correct = count = 0
    with torch.no_grad():
        for x, t in islice(batches(load(arguments.data, "test"), TEST_BATCH, shuffled=False), arguments.iterations):
            correct += int((model(x).argmax(1) == t).sum())
            count += len(t)
    accuracy = report(correct, count)
    assert arguments.iterations is not None or accuracy > 0.94


if __name__ == "__main__":
    main()
