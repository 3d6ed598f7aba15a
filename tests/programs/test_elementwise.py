"""Whole element-wise programs on the emulator against the chip's documented rules and against PyTorch's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.programs.graphs import Graph, arrays, graphs
from tests.programs.harness import Op, compile_model, model, reference, run_app


def check(directory: Path, ops: list[Op], inputs: dict, outputs: list[str], constants: dict, **options: object) -> None:
    """Compile, run and compare with the reference, bit for bit up to the sign of zero."""
    shapes = {name: a.shape for name, a in inputs.items()}
    app = compile_model(directory, model(ops, shapes, outputs, constants), options)
    got = run_app(app, inputs)
    want = reference(ops, {**inputs, **constants}, outputs)
    for name in outputs:
        np.testing.assert_array_equal(got[name], want[name], err_msg=name)


@pytest.mark.parametrize(
    "shape",
    [(), (1,), (7,), (3, 4), (3, 1), (1, 1, 1), (5, 7, 9), (128, 130), (2, 3, 2, 5, 2, 3), (1000003,), (600, 601)],
    ids=str,
)
def test_add_of_any_shape(tmp_path: Path, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    inputs = {"x": arrays(rng, shape), "y": arrays(rng, shape)}
    check(tmp_path, [Op("Add", ("x", "y"), "out")], inputs, ["out"], {})


BROADCASTS = [
    ((3, 4), (4,)),
    ((3, 4), (3, 1)),
    ((3, 1), (1, 4)),
    ((5, 1, 7), (6, 1)),
    ((200, 300), (300,)),
    ((200, 300), (200, 1)),
    ((1, 4096), (512, 1)),
    ((33, 1, 65), (1, 20, 1)),
    ((3, 4), ()),
]


@pytest.mark.parametrize(("left", "right"), BROADCASTS, ids=str)
@pytest.mark.parametrize("planner", ["lpz", "canonical"])
def test_broadcasting(tmp_path: Path, left: tuple[int, ...], right: tuple[int, ...], planner: str) -> None:
    rng = np.random.default_rng(2)
    inputs = {"x": arrays(rng, left), "y": arrays(rng, right)}
    ops = [Op("Sub", ("x", "y"), "d"), Op("Mul", ("y", "d"), "p"), Op("Neg", ("y",), "q")]
    check(tmp_path, ops, inputs, ["d", "p", "q"], {}, layout_planner=planner)


@settings(max_examples=30)
@given(graphs(), st.integers(0, 2**32 - 1), st.sampled_from(["reuse_consecutive", "always_from_dram"]))
def test_random_graphs(tmp_path_factory: pytest.TempPathFactory, graph: Graph, seed: int, scheduler: str) -> None:
    rng = np.random.default_rng(seed)
    values = {n: arrays(rng, s) for n, s in graph.inputs.items()}
    fixed = {n: arrays(rng, s) for n, s in graph.constants.items()}
    folder = tmp_path_factory.mktemp("graph")
    check(folder, list(graph.ops), values, list(graph.outputs), fixed, scheduler=scheduler)


def test_values_larger_than_local_memory_are_cut(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    inputs = {"x": arrays(rng, (512, 300)), "y": arrays(rng, (512, 300)), "row": arrays(rng, (300,))}
    ops = [Op("Add", ("x", "y"), "a"), Op("Max", ("a", "row"), "b"), Op("Neg", ("row",), "c")]
    app_options = {"sram_budget": 0.01}
    check(tmp_path, ops, inputs, ["b", "c"], {}, **app_options)


@pytest.mark.parametrize("scheduler", ["always_from_dram", "reuse_consecutive"])
def test_a_load_spares_what_its_turn_still_reads(tmp_path: Path, scheduler: str) -> None:
    """The column is read for the last time by a product that takes turns with the load of the next operand."""
    rng = np.random.default_rng(4)
    shapes = {"x": (13, 10, 36, 34), "column": (13, 10, 1, 34), "y": (13, 10, 36, 34)}
    inputs = {name: arrays(rng, shape) for name, shape in shapes.items()}
    ops = [Op("Mul", ("x", "column"), "p"), Op("Sub", ("p", "y"), "d"), Op("Max", ("d", "p"), "m")]
    check(tmp_path, ops, inputs, ["d", "m"], {}, layout_planner="canonical", scheduler=scheduler)


def test_packing_reaches_the_bound_of_the_transfers(tmp_path: Path) -> None:
    """A large sum is limited by L2BM; steps without work only remain where the direction of transfers turns."""
    shape = (1024, 1024)
    app = compile_model(tmp_path, model([Op("Add", ("x", "y"), "out")], {"x": shape, "y": shape}, ["out"], {}))
    figures = dict(app.statistics)
    assert figures["steps"] - figures["bound"] <= 48  # filling, draining and one turn of direction, at any size
    assert figures["ops_mau-calc"] == 32
    assert "ops_alu" not in figures
