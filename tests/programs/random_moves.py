"""Growers of random graphs: products, reductions, and everything that moves elements."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from tests.programs.random_values import (
    BOOL,
    DIMS,
    DOUBLE,
    FLOAT,
    FLOATING,
    INT,
    LONG,
    Graph,
    Numbers,
    Shape,
    Value,
)


def _any(g: Graph, least: int = 0) -> Value | None:
    """A tensor of any element type with at least that many axes."""
    element = int(g.rng.choice([FLOAT, FLOAT, FLOAT, DOUBLE, INT, LONG, BOOL]))
    return g.pick(element, lambda v: len(v.shape) >= least)


def _axis(g: Graph, x: Value) -> int:
    return int(g.rng.integers(len(x.shape)))


def product(g: Graph) -> None:
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is None or prod(x.shape) * 4 > g.most * 8:
        return
    width = int(g.rng.choice(g.dims))
    if len(x.shape) > 2 and g.rng.random() < 0.5:
        g.add("MatMul", [x, g.normal((*x.shape[:-2], x.shape[-1], width))], np.matmul)
    elif len(x.shape) > 1 and g.rng.random() < 0.3:
        g.add("MatMul", [g.normal((width, x.shape[-2])), x], np.matmul)
    else:
        g.add("MatMul", [x, g.normal((x.shape[-1], width) if g.rng.random() < 0.8 else (x.shape[-1],))], np.matmul)


REDUCTIONS: dict[str, Callable[..., Numbers]] = {
    "ReduceSum": np.sum,
    "ReduceMean": np.mean,
    "ReduceMax": np.max,
    "ReduceMin": np.min,
}


def reduction(g: Graph) -> None:
    x = g.pick(int(g.rng.choice([FLOAT] * 7 + [DOUBLE, INT, LONG])), lambda v: len(v.shape) >= 1)
    if x is None:
        return
    op = str(g.rng.choice([name for name in REDUCTIONS if x.element in FLOATING or name != "ReduceMean"]))
    count = int(g.rng.integers(1, len(x.shape) + 1))
    axes = tuple(sorted(int(a) for a in g.rng.choice(len(x.shape), count, replace=False)))
    keep = bool(g.rng.random() < 0.5)
    signed = [a - len(x.shape) if g.rng.random() < 0.3 else a for a in axes]
    meaning = REDUCTIONS[op]
    g.add(op, [x], lambda a: meaning(a, axis=axes, keepdims=keep), x.element, [g.given(signed)], keepdims=int(keep))


def softmax(g: Graph) -> None:
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is None:
        return
    axis, logarithm = _axis(g, x), bool(g.rng.random() < 0.3)

    def meaning(a: Numbers) -> Numbers:
        powers = np.exp(a - a.max(axis, keepdims=True))
        shares = powers / powers.sum(axis, keepdims=True)
        return np.log(shares) if logarithm else shares

    g.add("LogSoftmax" if logarithm else "Softmax", [x], meaning, axis=axis)


def largest(g: Graph) -> None:
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is None:
        return
    axis = _axis(g, x)
    order = np.sort(x.exact, axis)
    if x.shape[axis] > 1 and np.diff(order, axis=axis).min() < 1e-4:
        return
    g.add("ArgMax", [x], lambda a: np.expand_dims(np.argmax(a, axis), axis), LONG, axis=axis)


def running_sum(g: Graph) -> None:
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is not None:
        axis = _axis(g, x)
        g.add("CumSum", [x], lambda a: np.cumsum(a, axis), FLOAT, [g.given(axis)])


def transpose(g: Graph) -> None:
    x = _any(g, 2)
    if x is not None:
        order = tuple(int(a) for a in g.rng.permutation(len(x.shape)))
        g.add("Transpose", [x], lambda a: a.transpose(order), x.element, perm=order)


def _split_up(g: Graph, count: int) -> Shape:
    """A shape with that many elements."""
    shape = []
    while count > 1 and len(shape) < 3:
        factors = [n for n in range(2, count + 1) if count % n == 0]
        shape.append(int(g.rng.choice(factors)))
        count //= shape[-1]
    return tuple(shape) + ((count,) if count > 1 or g.rng.random() < 0.3 else ())


def reshape(g: Graph) -> None:
    x = _any(g)
    if x is not None:
        shape = _split_up(g, prod(x.shape))
        g.add("Reshape", [x], lambda a: a.reshape(shape), x.element, [g.given(np.array(shape, np.int64))])


def slices(g: Graph) -> None:
    x = _any(g, 1)
    if x is None:
        return
    axis = _axis(g, x)
    first, last = sorted(int(n) for n in g.rng.choice(x.shape[axis] + 1, 2, replace=False))
    step = int(g.rng.choice([1, 1, 2, 3]))
    if g.rng.random() < 0.2:
        first, last, step = last - 1, first - 1 if first else -(10**6), -step
    taken = tuple(slice(None) if n != axis else _python_slice(first, last, step) for n in range(len(x.shape)))
    parameters = [g.given([n]) for n in (first, last, axis, step)]
    g.add("Slice", [x], lambda a: a[taken], x.element, parameters)


def _python_slice(first: int, last: int, step: int) -> slice:
    return slice(first, None if last < 0 else last, step)


def concatenate(g: Graph) -> None:
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is None:
        return
    axis = _axis(g, x)
    width = int(g.rng.choice(DIMS[:8]))
    other = x if g.rng.random() < 0.3 else g.normal([width if n == axis else m for n, m in enumerate(x.shape)])
    parts = [x, other] if g.rng.random() < 0.7 else [other, x, other]
    g.add("Concat", parts, lambda *a: np.concatenate(a, axis), axis=axis)


def gather(g: Graph) -> None:
    x = _any(g, 1)
    if x is None:
        return
    axis = _axis(g, x)
    shape = tuple(int(n) for n in g.rng.choice(DIMS[:8], int(g.rng.integers(0, 3))))
    index = g.fresh(g.rng.integers(-x.shape[axis], x.shape[axis], shape), LONG)
    g.add("Gather", [x, index], lambda a, i: np.take(a, i.astype(np.int64), axis), x.element, axis=axis)


def expand(g: Graph) -> None:
    x = _any(g)
    if x is None:
        return
    lead = [int(g.rng.choice(DIMS[:6]))] if g.rng.random() < 0.5 else []
    shape = (*lead, *(n if n > 1 else int(g.rng.choice(DIMS[:6])) for n in x.shape))
    if len(shape) <= 5:
        g.add("Expand", [x], lambda a: np.broadcast_to(a, shape), x.element, [g.given(np.array(shape, np.int64))])


def tile(g: Graph) -> None:
    x = _any(g, 1)
    if x is not None:
        times = tuple(int(n) for n in g.rng.integers(1, 3, len(x.shape)))
        g.add("Tile", [x], lambda a: np.tile(a, times), x.element, [g.given(times)])


def pad(g: Graph) -> None:
    x = g.pick(accept=lambda v: len(v.shape) >= 1)
    if x is not None:
        widths = g.rng.integers(0, 4, (2, len(x.shape)))
        g.add("Pad", [x], lambda a: np.pad(a, widths.T), FLOAT, [g.given(widths.reshape(-1))])
