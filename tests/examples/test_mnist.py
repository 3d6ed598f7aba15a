"""The MNIST programs on a small made-up data set of the same form."""

import gzip
import re
import struct
import sys

import numpy as np
import pytest
import torch

from tests.examples.conftest import EXAMPLES

DEVICES = ["pfvm:cpu", "emu2"]


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def digits(count, seed):
    """Images of ten classes: a bright square at a place of the class, with noise; labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 10, count).astype(np.uint8)
    images = generator.integers(0, 60, (count, 28, 28)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        row, column = divmod(int(label), 4)
        image[2 + 9 * row : 8 + 9 * row, 1 + 7 * column : 6 + 7 * column] = 255
    return images, labels


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for name, (images, labels) in {"train": digits(1280 + 17, 1), "t10k": digits(1250, 2)}.items():
        (folder / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(images), 1))
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(idx(labels))
    return folder


@pytest.mark.parametrize("device", DEVICES)
def test_training_evaluation_and_checkpoint(device, data, example, tmp_path):
    """Forty training steps and ten evaluation batches."""
    arguments = ("--data", data, "--outdir", tmp_path / "out")
    text = example("mnist.py", *arguments, "--device", device, "--epochs", 2)
    lines = text.splitlines()
    assert re.fullmatch(r"epoch 0, iter    0, loss \d+\.\d+", lines[0])
    assert [line.rsplit(" ", 1)[0] for line in lines[1:-1]] == [
        *("epoch 0, loss", "epoch 1, iter    0, loss", "epoch 1, loss"),
    ]
    assert re.fullmatch(r"Correct: \d+ / 1250\. Accuracy: [01]\.\d+", lines[-1])
    means = [float(line.rsplit(" ", 1)[1]) for line in lines[1:-1:2]]
    assert means == sorted(means, reverse=True)
    assert {"train_step", "eval_step", "checkpoint.pt"} <= {path.name for path in (tmp_path / "out").iterdir()}
    checkpoint = torch.load(tmp_path / "out" / "checkpoint.pt", weights_only=True)
    assert sorted(checkpoint) == ["model", "optimizer"]
    assert example("mnist_infer.py", *arguments).splitlines()[-1] == lines[-1]


def test_plain_torch_does_the_same(data, example, tmp_path):
    arguments = ("--data", data, "--outdir", tmp_path, "--epochs", 2)
    ours = example("mnist.py", *arguments, "--device", "pfvm:cpu", "--iterations", 5).splitlines()
    theirs = example("mnist_train.py", *arguments, "--iterations", 5).splitlines()
    losses = [[float(line.rsplit(" ", 1)[1]) for line in lines] for lines in (ours[:-1], theirs)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert example("mnist_infer.py", *arguments, "--iterations", 1).startswith("Correct: ")


def test_missing_and_broken_files(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLES))
    monkeypatch.delitem(sys.modules, "mnist_common", raising=False)
    import mnist_common

    with pytest.raises(SystemExit, match=r"has no train-images-idx3-ubyte or train-images-idx3-ubyte.gz.*--data"):
        mnist_common.load(tmp_path, "train")
    inner = tmp_path / "MNIST" / "raw"
    inner.mkdir(parents=True)
    (inner / "train-images-idx3-ubyte").write_bytes(b"\0\0\x0d\3abc")
    with pytest.raises(SystemExit, match="is not an IDX file of bytes"):
        mnist_common.load(tmp_path, "train")
