"""What the MNIST programs share: the data set from IDX files, the model, the lines that they print."""

import argparse
import gzip
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from mlsdk import storage

Batch = tuple[torch.Tensor, torch.Tensor]
FILES = {  # images and labels, as the data set's home page names them
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}
TRAIN_BATCH, TEST_BATCH = 64, 125


class Model(torch.nn.Module):
    """32x32 pixels -> 256 -> 10 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear1 = torch.nn.Linear(32 * 32, 256)
        self.linear2 = torch.nn.Linear(256, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear2(torch.relu(self.linear1(x.view(x.shape[0], -1))))


def find(folder: Path, name: str) -> Path:
    """The file `name` or `name`.gz in `folder`, or where torchvision puts it below `folder`."""
    places = [place / end for place in (folder, folder / "MNIST" / "raw") for end in (name, name + ".gz")]
    for place in places:
        if place.is_file():
            return place
    sys.exit(f"{folder} has no {name} or {name}.gz: get the four files of MNIST and name their folder with --data")


def read_idx(path: Path) -> np.ndarray:
    """The array of bytes in an IDX file: two zeros, type 8, number of axes, the sizes, the elements."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    axes = data[3]
    if data[:3] != b"\0\0\x08" or len(data) < 4 + 4 * axes:
        sys.exit(f"{path} is not an IDX file of bytes")
    shape = np.frombuffer(data, ">u4", axes, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def load(folder: Path, part: str) -> Batch:
    """Images as float (n, 32, 32) from 0 to 1 with a margin of zeros, and labels (n,), of "train" or "test"."""
    images, labels = (read_idx(find(folder, name)) for name in FILES[part])
    pixels = torch.from_numpy(images.astype(np.float32) / 255)
    return torch.nn.functional.pad(pixels, (2, 2, 2, 2)), torch.from_numpy(labels.astype(np.int64))


def batches(data: Batch, size: int, *, shuffled: bool) -> Iterator[Batch]:
    """Whole batches; a last, smaller one is dropped because compiled functions have one shape."""
    images, labels = data
    order = torch.randperm(len(images)) if shuffled else torch.arange(len(images))
    for start in range(0, len(images) - size + 1, size):
        chosen = order[start : start + size]
        yield images[chosen], labels[chosen]


class RunningLoss:
    """Prints the mean loss of the epoch so far, every hundred iterations and at the end."""

    def __init__(self, epoch: int) -> None:
        self.epoch, self.total, self.count = epoch, 0.0, 0

    def add(self, loss: float) -> None:
        self.total += loss
        self.count += 1
        if (self.count - 1) % 100 == 0:
            print(f"epoch {self.epoch}, iter {self.count - 1:4}, loss {self.mean}", flush=True)

    @property
    def mean(self) -> float:
        return self.total / self.count

    def finish(self) -> None:
        print(f"epoch {self.epoch}, loss {self.mean}", flush=True)


def report(correct: int, count: int) -> float:
    accuracy = correct / count
    print(f"Correct: {correct} / {count}. Accuracy: {accuracy}")
    return accuracy


def parse(description: str, **defaults: str) -> argparse.Namespace:
    """The command line of the MNIST programs; `defaults` adds further options with these defaults."""
    temporary = storage.path(tempfile.gettempdir())
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, default=temporary, help="folder of the four IDX files, plain or .gz")
    parser.add_argument("--outdir", type=Path, default=temporary / "mlsdk_mnist_out", help="where results go")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--iterations", type=int, help="at most so many in each epoch and in the evaluation")
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", default=value)
    return parser.parse_args()
