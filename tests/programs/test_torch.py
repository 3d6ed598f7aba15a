"""Random PyTorch functions through all five stages, run on the emulator, against PyTorch itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.app import load_app
from pfcomp.stages.pipeline import compile_function
from tests.programs.graphs import Graph, arrays, graphs
from tests.programs.harness import reference, run_app

Tensors = dict[str, torch.Tensor]

TORCH = {
    "Add": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "Max": torch.maximum,
    "Min": torch.minimum,
    "Neg": torch.neg,
    "Abs": torch.abs,
    "Relu": torch.relu,
    "Identity": lambda x: x,
}


def as_function(graph: Graph, constants: Tensors) -> Callable[[Tensors], Tensors]:
    def function(inputs: Tensors) -> Tensors:
        known = {**constants, **inputs}
        for op in graph.ops:
            known[op.output] = TORCH[op.op](*(known[name] for name in op.inputs))
        return {name: known[name] for name in graph.outputs}

    return function


def ulps(a: np.ndarray, b: np.ndarray) -> int:
    """Largest distance in units in the last place, zeros of both signs being one number."""
    x, y = (np.where(v.view(np.int32) < 0, -(v.view(np.int32) & 0x7FFFFFFF), v.view(np.int32)) for v in (a, b))
    return int(np.abs(x.astype(np.int64) - y).max(initial=0))


def run_both(folder: object, graph: Graph, seed: int) -> tuple[dict, dict, dict]:
    """Results of the emulator, of PyTorch, and of the chip's documented rules."""
    rng = np.random.default_rng(seed)
    inputs = {n: arrays(rng, s) for n, s in graph.inputs.items()}
    constants = {n: arrays(rng, s) for n, s in graph.constants.items()}
    function = as_function(graph, {n: torch.from_numpy(a) for n, a in constants.items()})
    sample = {n: torch.from_numpy(a) for n, a in inputs.items()}
    compile_function(function, sample, folder, {"float_dtype": "float"})
    got = run_app(load_app(folder / "model.app"), inputs)
    expected = {n: t.numpy() for n, t in function(sample).items()}
    return got, expected, reference(graph.ops, {**inputs, **constants}, graph.outputs)


@settings(max_examples=15)
@given(graphs(exact=True), st.integers(0, 2**32 - 1))
def test_equal_bit_for_bit_where_the_chip_follows_ieee(
    tmp_path_factory: pytest.TempPathFactory, graph: Graph, seed: int
) -> None:
    got, expected, _ = run_both(tmp_path_factory.mktemp("graph"), graph, seed)
    for name in graph.outputs:
        np.testing.assert_array_equal(got[name], expected[name], err_msg=name)


@settings(max_examples=15)
@given(graphs(), st.integers(0, 2**32 - 1))
def test_equal_within_an_ulp_of_the_documented_rounding(
    tmp_path_factory: pytest.TempPathFactory, graph: Graph, seed: int
) -> None:
    got, _, rules = run_both(tmp_path_factory.mktemp("graph"), graph, seed)
    for name in graph.outputs:
        assert ulps(got[name], rules[name]) <= 1, name
