"""Random graphs of all families of operators, and their comparison: the emulated chip against onnxruntime."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from pathlib import Path

import numpy as np

from tests.programs.general import model, reference, run
from tests.programs.harness import compile_model
from tests.programs.random_moves import (
    concatenate,
    expand,
    gather,
    largest,
    pad,
    product,
    reduction,
    reshape,
    running_sum,
    slices,
    softmax,
    tile,
    transpose,
)
from tests.programs.random_pointwise import binary, cast, comparison, integers, logic, select, unary
from tests.programs.random_values import DIMS, MOST_ELEMENTS, Graph, Rng, Shape
from tests.programs.random_windows import convolution, elements, logarithm_of_sum, pooling, scatter, top

ATTEMPTS = 400
REFERENCE_ROOM = 16

GROWERS: tuple[Callable[[Graph], None], ...] = (
    *(unary, unary, unary, binary, binary, binary, binary, comparison, select, logic, integers, cast),
    *(product, product, reduction, reduction, softmax, largest, running_sum),
    *(transpose, reshape, slices, concatenate, gather, expand, tile, pad),
    *(convolution, convolution, pooling, elements, scatter, top, logarithm_of_sum),
)


def random_shape(rng: Rng) -> Shape:
    while True:
        shape = tuple(int(n) for n in rng.choice(DIMS, int(rng.integers(0, 5))))
        if prod(shape) <= MOST_ELEMENTS:
            return shape


def random_graph(seed: int, length: int = 0) -> Graph:
    """A graph of `length` nodes (0: from 2 to 9)."""
    graph = Graph(np.random.default_rng(seed))
    length = length or int(graph.rng.integers(2, 10))
    graph.normal(random_shape(graph.rng))
    for _ in range(ATTEMPTS):
        if len(graph.nodes) >= length:
            break
        grower = GROWERS[int(graph.rng.integers(len(GROWERS)))]
        grower(graph)
    unread = {name for node in graph.nodes for name in node.inputs}
    graph.inputs = {name: array for name, array in graph.inputs.items() if name in unread}
    graph.constants = {name: array for name, array in graph.constants.items() if name in unread}
    return graph


def compare(graph: Graph, directory: Path) -> int:
    """Compile for single precision and run; AssertionError where an output is too far off. Returns the steps.

    Single precision of onnxruntime may be further off, as long sums of it are; it only has to mean the same.
    """
    proto = model(graph.nodes, graph.inputs, graph.outputs(), graph.constants)
    app = compile_model(directory, proto, {"float_dtype": "float"})
    found, other = run(app, graph.inputs), reference(proto, graph.inputs)
    for name in graph.outputs():
        exact, tolerance = graph.value(name).exact, graph.tolerance(name)
        for results, room in ((other, REFERENCE_ROOM), (found, 1)):
            assert np.shape(results[name]) == exact.shape, name
            np.testing.assert_allclose(results[name], exact, rtol=0, atol=room * tolerance, err_msg=name)
    return app.program.steps
