"""Random graphs of all families of operators, and their comparison: the emulated chip against onnxruntime."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from pfcomp.layout import Layout, canonical
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
from tests.programs.random_values import DIMS, LONG_DIMS, MOST_ELEMENTS, Graph, Shape
from tests.programs.random_windows import convolution, elements, logarithm_of_sum, pooling, scatter, top

ATTEMPTS = 400
REFERENCE_ROOM, REFERENCE_SLACK = 16, 2.0**-22
"""How many times the tolerance onnxruntime may be off, and what besides: its Sigmoid has absolute errors."""

GROWERS: tuple[Callable[[Graph], None], ...] = (
    *(unary, unary, unary, binary, binary, binary, binary, comparison, select, logic, integers, cast, cast),
    *(product, product, reduction, reduction, softmax, largest, running_sum),
    *(transpose, reshape, slices, concatenate, gather, expand, tile, pad),
    *(convolution, convolution, pooling, elements, scatter, top, logarithm_of_sum),
)


def random_shape(graph: Graph) -> Shape:
    while True:
        shape = tuple(int(n) for n in graph.rng.choice(graph.dims, int(graph.rng.integers(0, 5))))
        if graph.least <= prod(shape) <= graph.most:
            return shape


def random_graph(seed: int, least: int = 0, most: int = MOST_ELEMENTS) -> Graph:
    """A graph of 2 to 9 nodes that begins with at least `least` elements; no tensor has more than `most`."""
    dims = DIMS if most <= MOST_ELEMENTS else (*DIMS, *LONG_DIMS)
    graph = Graph(np.random.default_rng(seed), least, most, dims)
    length = int(graph.rng.integers(2, 10))
    graph.normal(random_shape(graph))
    for _ in range(ATTEMPTS):
        if len(graph.nodes) >= length:
            break
        grower = GROWERS[int(graph.rng.integers(len(GROWERS)))]
        grower(graph)
    unread = {name for node in graph.nodes for name in node.inputs}
    graph.inputs = {name: array for name, array in graph.inputs.items() if name in unread}
    graph.constants = {name: array for name, array in graph.constants.items() if name in unread}
    return graph


def compare(
    graph: Graph,
    directory: Path,
    entries: Sequence[Mapping[str, object]] = (),
    options: Mapping[str, object] | None = None,
) -> int:
    """Compile for single precision and run; AssertionError where an output is too far off. Returns the steps.

    `entries` are forced layouts; those that speak of constants that say how an operator works apply to nothing.
    Single precision of onnxruntime may be further off, as long sums of it are; it only has to mean the same.
    """
    proto = model(graph.nodes, graph.inputs, graph.outputs(), graph.constants)
    forced = {"layout_spec": list(entries), "allow_unused_layout_spec": True} if entries else {}
    app = compile_model(directory, proto, {"float_dtype": "float", **forced, **(options or {})})
    check_forced(graph, directory, entries)
    found, other = run(app, graph.inputs), reference(proto, graph.inputs)
    for name in graph.outputs():
        exact, tolerance = graph.value(name).exact, graph.tolerance(name)
        for results, most in ((other, REFERENCE_ROOM * tolerance + REFERENCE_SLACK), (found, tolerance)):
            assert np.shape(results[name]) == exact.shape, name
            np.testing.assert_allclose(results[name], exact, rtol=0, atol=most, err_msg=name)
    return app.program.steps


def check_forced(graph: Graph, directory: Path, entries: Sequence[Mapping[str, object]]) -> None:
    """Every tensor that is not constant and that an entry speaks of lies in the layout of the entry somewhere.

    A single element lies in most layouts anyway, under the name of any tensor that it is a view of.
    """
    values = json.loads((directory / "layout.json").read_text())
    chip = {name: Layout.parse(value["layout"]) for name, value in values.items() if value["location"] != "DRAM"}
    there = {(name.partition("@")[0], canonical(layout)) for name, layout in chip.items()}
    for entry in (e for e in entries if prod(e["shape"]) > 1):
        wanted = canonical(Layout.parse(str(entry["layout"])))
        for node in graph.nodes:
            names = node.outputs[:1] if entry["trigger"] == "FixOutput" else node.inputs
            for name in names if node.op == entry["op_type"] else ():
                if name not in graph.constants and list(graph.value(name).shape) == entry["shape"]:
                    copies = (name, f"{name}.made", f"{name}.switched")
                    assert any((copy, wanted) in there for copy in copies), (name, entry)
