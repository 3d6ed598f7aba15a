"""Growers of random graphs: operators on one element of each operand at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf, prod

import numpy as np

from tests.programs.random_values import BOOL, DOUBLE, FLOAT, FLOATING, INT, INTEGERS, LONG, Graph, Numbers, Value


def _fraction(x: Numbers) -> bool:
    return bool(np.all(np.abs(x - np.round(x)) > 1e-3))


UNARY: Mapping[str, tuple[Callable[[Numbers], Numbers], Callable[[Numbers], bool]]] = {
    "Relu": (lambda x: np.maximum(x, 0), lambda _: True),
    "Neg": (np.negative, lambda _: True),
    "Abs": (np.abs, lambda _: True),
    "Exp": (np.exp, lambda x: bool(x.max() < 5)),
    "Log": (np.log, lambda x: bool(x.min() > 0.01)),
    "Sqrt": (np.sqrt, lambda x: bool(x.min() > 0.01)),
    "Reciprocal": (np.reciprocal, lambda x: bool(np.abs(x).min() > 0.02)),
    "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: bool(np.abs(x).max() < 50)),
    "Tanh": (np.tanh, lambda _: True),
    "Erf": (np.vectorize(erf, otypes=[np.float64]), lambda _: True),
    "Sin": (np.sin, lambda x: bool(np.abs(x).max() < 8)),
    "Cos": (np.cos, lambda x: bool(np.abs(x).max() < 8)),
    "Floor": (np.floor, _fraction),
    "Round": (np.round, lambda x: _fraction(x + 0.5)),
}


def unary(g: Graph) -> None:
    x, op = g.pick(), str(g.rng.choice(list(UNARY)))
    meaning, domain = UNARY[op]
    if x is not None and domain(x.exact):
        g.add(op, [x], meaning)


BINARY: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Max": np.maximum,
    "Min": np.minimum,
}


def _partner(g: Graph, x: Value) -> Value:
    """Another operand that broadcasts with x, on either side."""

    def fits(y: Value) -> bool:
        try:
            return prod(np.broadcast_shapes(x.shape, y.shape)) <= g.most
        except ValueError:
            return False

    other = g.pick(x.element, fits)
    if other is not None and g.rng.random() < 0.5:
        return other
    shape = [n if g.rng.random() < 0.7 else 1 for n in x.shape][int(g.rng.integers(0, len(x.shape) + 1)) :]
    if x.element in INTEGERS:
        return g.fresh(g.rng.integers(-20, 20, shape), x.element)
    return g.fresh(g.rng.standard_normal(shape) if x.element in FLOATING else g.rng.random(shape) > 0.5, x.element)


def _both(g: Graph, x: Value) -> list[Value]:
    pair = [x, _partner(g, x)]
    return pair[::-1] if g.rng.random() < 0.5 else pair


def binary(g: Graph) -> None:
    x = g.pick(DOUBLE) if g.rng.random() < 0.2 else g.pick()
    if x is None:
        return
    op, pair = str(g.rng.choice(list(BINARY))), _both(g, x)
    if op != "Div" or np.abs(pair[1].exact).min() > 0.02:
        g.add(op, pair, BINARY[op], x.element)


def comparison(g: Graph) -> None:
    x = g.pick(int(g.rng.choice([FLOAT, FLOAT, FLOAT, FLOAT, DOUBLE, INT, LONG])))
    if x is None:
        return
    pair, less = _both(g, x), bool(g.rng.random() < 0.5)
    near = x.element in FLOATING and np.abs(pair[0].exact - pair[1].exact).min() < 1e-4
    if not near:
        g.add("Less" if less else "GreaterOrEqual", pair, np.less if less else np.greater_equal, BOOL)


def select(g: Graph) -> None:
    condition, x = g.pick(BOOL), g.pick()
    if condition is None or x is None:
        return
    pair = _both(g, x)
    try:
        np.broadcast_shapes(condition.shape, pair[0].shape, pair[1].shape)
    except ValueError:
        return
    g.add("Where", [condition, *pair], lambda c, a, b: np.where(c != 0, a, b))


def logic(g: Graph) -> None:
    x = g.pick(BOOL)
    if x is not None and g.rng.random() < 0.5:
        g.add("Not", [x], lambda a: 1 - a, BOOL)
    elif x is not None:
        g.add("And", _both(g, x), np.minimum, BOOL)


def integers(g: Graph) -> None:
    x = g.pick(int(g.rng.choice(INTEGERS)))
    if x is not None:
        op = str(g.rng.choice(["Add", "Sub", "Mul", "Max"]))
        g.add(op, _both(g, x), BINARY[op], x.element)


def cast(g: Graph) -> None:
    x = g.pick(int(g.rng.choice([FLOAT, FLOAT, DOUBLE, INT, LONG, BOOL])))
    if x is None:
        return
    target = int(g.rng.choice([t for t in (*FLOATING, *INTEGERS) if t != x.element]))
    if target in FLOATING or x.element not in FLOATING:
        g.add("Cast", [x], np.array, target, to=target)
    elif _fraction(x.exact):
        g.add("Cast", [x], np.trunc, target, to=target)
