"""Growers of random graphs: windows, indices for single elements, and the largest elements in order."""

from __future__ import annotations

from math import prod

import numpy as np
import torch
from torch.nn import functional as F

from tests.programs.random_values import FLOAT, LONG, Graph, Numbers, Value


def _pictures(g: Graph) -> Value | None:
    """A tensor with a batch, channels and one or two more axes, by a Reshape if there is none."""
    x = g.pick(accept=lambda v: len(v.shape) in (3, 4) and v.shape[1] <= 16)
    if x is not None:
        return x
    x = g.pick(accept=lambda v: len(v.shape) == 2 and 8 < prod(v.shape) < 2000)
    if x is None:
        return None
    shape = (1, *((1, *x.shape) if g.rng.random() < 0.5 else x.shape))
    taken = g.add("Reshape", [x], lambda a: a.reshape(shape), FLOAT, [g.given(shape)])
    return g.values[-1] if taken and shape[1] <= 16 else None


def convolution(g: Graph) -> None:
    x = _pictures(g)
    if x is None or prod(x.shape) > 4000:
        return
    rank = len(x.shape) - 2
    groups = int(g.rng.choice([n for n in (1, 2, 3, 4) if x.shape[1] % n == 0]))
    kernel = [int(n) for n in g.rng.integers(1, 4, rank)]
    strides, dilations = (tuple(int(n) for n in g.rng.integers(1, 3, rank)) for _ in range(2))
    pads = tuple(int(n) for n in g.rng.integers(0, 2, rank))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    if any(n + 2 * p < r for n, p, r in zip(x.shape[2:], pads, reach, strict=True)):
        return
    channels = groups * int(g.rng.integers(1, 5))
    weight = g.normal((channels, x.shape[1] // groups, *kernel))
    function = F.conv1d if rank == 1 else F.conv2d

    def meaning(a: Numbers, w: Numbers) -> Numbers:
        tensors = (torch.from_numpy(v.copy()) for v in (a, w))
        return function(*tensors, None, strides, pads, dilations, groups).numpy()

    how = {"strides": strides, "dilations": dilations, "pads": (*pads, *pads), "group": groups}
    g.add("Conv", [x, weight], meaning, **how)


def pooling(g: Graph) -> None:
    x = _pictures(g)
    if x is None or any(n < 2 for n in x.shape[2:]):
        return
    rank, size = len(x.shape) - 2, 2
    strides = tuple(int(n) for n in g.rng.integers(1, 3, rank))
    largest = bool(g.rng.random() < 0.5)
    functions = {(1, True): F.max_pool1d, (2, True): F.max_pool2d, (1, False): F.avg_pool1d, (2, False): F.avg_pool2d}
    function = functions[rank, largest]

    def meaning(a: Numbers) -> Numbers:
        return function(torch.from_numpy(a.copy()), size, strides).numpy()

    g.add("MaxPool" if largest else "AveragePool", [x], meaning, kernel_shape=(size,) * rank, strides=strides)


def elements(g: Graph) -> None:
    """GatherElements with indices for a part of the other axes."""
    x = g.pick(FLOAT if g.rng.random() < 0.7 else LONG, lambda v: len(v.shape) >= 1)
    if x is None:
        return
    index, axis = _index(g, x)
    part = tuple(slice(n) if k != axis else slice(None) for k, n in enumerate(index.shape))

    def meaning(a: Numbers, i: Numbers) -> Numbers:
        return np.take_along_axis(a[part], i.astype(np.int64) % x.shape[axis], axis)

    g.add("GatherElements", [x, index], meaning, x.element, axis=axis)


def _index(g: Graph, x: Value) -> tuple[Value, int]:
    """Indices for an axis of x, which no two elements of a row share."""
    axis = int(g.rng.integers(len(x.shape)))
    shape = [int(g.rng.integers(1, n + 1)) for n in x.shape]
    rows = [n if k == axis else shape[k] for k, n in enumerate(x.shape)]
    order = np.argsort(g.rng.random(rows), axis)
    found = np.take(order, range(shape[axis]), axis)
    return g.fresh(np.where(g.rng.random(found.shape) < 0.2, found - x.shape[axis], found), LONG), axis


def scatter(g: Graph) -> None:
    """ScatterElements, replacing or adding."""
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is None:
        return
    index, axis = _index(g, x)
    known = g.pick(accept=lambda v: v.shape == index.shape) if g.rng.random() < 0.5 else None
    updates, adds = known or g.normal(index.shape), bool(g.rng.random() < 0.5)
    part = tuple(slice(n) if k != axis else slice(None) for k, n in enumerate(index.shape))

    def meaning(a: Numbers, i: Numbers, u: Numbers) -> Numbers:
        result, places = a.copy(), i.astype(np.int64) % x.shape[axis]
        new = np.take_along_axis(result[part], places, axis) + u if adds else u
        np.put_along_axis(result[part], places, new, axis)
        return result

    g.add("ScatterElements", [x, index, updates], meaning, axis=axis, reduction="add" if adds else "none")


def top(g: Graph) -> None:
    """The largest elements in order, without their indices."""
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is None:
        return
    axis = int(g.rng.integers(len(x.shape)))
    count = int(g.rng.integers(1, min(x.shape[axis], 12) + 1))

    def meaning(a: Numbers) -> Numbers:
        return np.take(-np.sort(-a, axis), range(count), axis)

    g.add("TopK", [x], meaning, FLOAT, [g.given([count])], results=2, axis=axis)


def logarithm_of_sum(g: Graph) -> None:
    x = g.pick(accept=lambda v: len(v.shape) >= 1 and np.abs(v.exact).max() < 50)
    if x is None:
        return
    axis = int(g.rng.integers(len(x.shape)))

    def meaning(a: Numbers) -> Numbers:
        return np.log(np.exp(a).sum(axis))

    g.add("ReduceLogSumExp", [x], meaning, FLOAT, [g.given([axis])], keepdims=0)
