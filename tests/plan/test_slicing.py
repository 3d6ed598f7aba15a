"""Graphs whose values do not fit into local memory: pieces of nodes and tensors, and whole programs in pieces."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from pfcomp.artifacts import read_zst
from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import LM_WORDS, DType, MNNode
from pfcomp.kernels.api import Spec
from pfcomp.layout import Layout
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.plan.beside import groups
from pfcomp.plan.lower.attempts import in_pieces
from pfcomp.plan.lower.graph import CoreGraph, Piece
from pfcomp.plan.lower.indices import NOWHERE, Indices
from pfcomp.plan.lower.patterns import pattern
from pfcomp.plan.lower.slicing import sliced
from pfcomp.plan.slices import image_layout, suits
from pfcomp.plan.store import from_json
from tests.programs.general import BOOL, DOUBLE, FLOAT, LONG, Array, Node, agree, floats, ints

RNG = np.random.default_rng(5)
f = floats(RNG)
F = DType.FLOAT
N = Node


@dataclass(frozen=True)
class Case:
    """`cut` names tensors in DRAM that must have time slices."""

    nodes: tuple[Node, ...]
    inputs: Mapping[str, Array]
    outputs: Mapping[str, int]
    cut: str
    budget: float
    constants: Mapping[str, Array] = field(default_factory=dict)


CASES: dict[str, Case] = {
    "element-wise": Case(
        (N("Exp", "x", "y"), N("Add", "yb", "z")), {"x": f(512, 512), "b": f(512)}, {"z": FLOAT}, "xz", 0.01
    ),
    "truth values and doubles": Case(
        (N("Less", "xz", "c"), N("Where", "cxz", "y"), N("Cast", "y", "d", {"to": DOUBLE})),
        {"x": f(700, 300), "z": f(300)}, {"y": FLOAT, "c": BOOL, "d": DOUBLE}, "xycd", 0.03,
    ),
    "long integers": Case(
        (N("Add", "xz", "y"),),
        {"x": RNG.integers(-9, 9, (700, 300)), "z": RNG.integers(-9, 9, 300)}, {"y": LONG}, "xy", 0.02,
    ),
    "rows of a product": Case(
        (N("MatMul", "xw", "y"), N("Add", "yb", "z"), N("Relu", "z", "o")),
        {"x": f(1024, 64), "w": f(64, 128), "b": f(128)}, {"o": FLOAT}, "o", 0.012,
    ),
    "columns of constant weights": Case(
        (N("MatMul", "xw", "y"), N("Add", "yb", "z")),
        {"x": f(16, 16)}, {"z": FLOAT}, "z", 0.006, {"w": f(16, 4096), "b": f(4096)},
    ),
    "sum of products": Case(
        (N("MatMul", "xw", "y"),), {"x": f(16, 16384), "w": f(16384, 16)}, {"y": FLOAT}, "xw", 0.012
    ),
    "softmax of rows": Case((N("Softmax", "x", "y", {"axis": -1}),), {"x": f(1024, 200)}, {"y": FLOAT}, "xy", 0.012),
    "softmax of columns": Case((N("Softmax", "x", "y", {"axis": 0}),), {"x": f(1000, 200)}, {"y": FLOAT}, "xy", 0.012),
    "reductions to scalars": Case(
        (N("ReduceMean", "x", "m", {"keepdims": 0}), N("Exp", "x", "e"), N("ReduceMax", "e", "q")),
        {"x": f(1000, 200)}, {"m": FLOAT, "q": FLOAT}, "x", 0.01,
    ),
    "transposition": Case(
        (N("Transpose", "x", "y", {"perm": (1, 0)}), N("Relu", "y", "z")), {"x": f(600, 300)}, {"z": FLOAT}, "xz", 0.012
    ),
    "indices of single elements": Case(
        (
            N("GatherElements", "xi", "g", {"axis": 0}), N("ScatterElements", "xig", "s", {"axis": 0}),
            N("TopK", "sk", "vq", {"axis": 0}),
        ),
        {"x": f(8, 20_000), "i": RNG.random((3, 20_000)).argsort(0)},
        {"v": FLOAT, "q": LONG}, "xivq", 0.02, {"k": np.array([3])},
    ),
    "training": Case(
        (
            N("MatMul", "xw", "h"), N("Add", "hb", "a"), N("Relu", "a", "r"), N("Sub", "rt", "d"),
            N("Sign", "r", "s"), N("Mul", "ds", "g"), N("Transpose", "x", "X", {"perm": (1, 0)}),
            N("MatMul", "Xg", "W"), N("Sub", "wW", "v"),
            N("ReduceSum", "gz", "B", {"keepdims": 0}), N("Sub", "bB", "c"),
        ),
        {"x": f(2048, 64), "w": f(64, 128), "b": f(128), "t": f(2048, 128)}, {"v": FLOAT, "c": FLOAT}, "xt", 0.05,
        {"z": ints(0)},
    ),
    "attention": Case(
        (
            N("Transpose", "k", "K", {"perm": (0, 1, 3, 2)}), N("MatMul", "qK", "s"), N("Softmax", "s", "p"),
            N("MatMul", "pv", "o"), N("Transpose", "o", "O", {"perm": (0, 2, 1, 3)}), N("Reshape", "Oh", "y"),
        ),
        {name: f(2, 4, 128, 16) for name in "qkv"}, {"y": FLOAT}, "q", 0.02, {"h": ints(2, 128, 64)},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_program_in_pieces_agrees_with_onnxruntime(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    options = {"float_dtype": "float", "sram_budget": case.budget}
    app = agree(tmp_path, case.nodes, case.inputs, case.outputs, case.constants, options)
    cut = {t.name for t in (*app.inputs, *app.outputs) if extent(t.layout, Level.TIME) > 1}
    assert set(case.cut) <= cut


def test_pieces_are_loaded_and_stored_beside_products_on_other_pieces(tmp_path: Path) -> None:
    case = {"x": f(8192, 128), "w": f(128, 64)}
    options = {"float_dtype": "half", "sram_budget": 0.06}
    agree(tmp_path, (N("MatMul", "xw", "y"),), case, {"y": FLOAT}, options=options, tolerance=1e-2)
    schedule = from_json(json.loads(read_zst(tmp_path / "schedule.json.zst")), "schedule")
    together = list(groups(schedule.tasks, schedule.graph))
    assert {t.node.op for _, transfers in together for t in transfers} == {"Download", "Upload"}
    assert sum(1 + len(transfers) for _, transfers in together) == len(schedule.tasks)


@pytest.mark.slow
def test_a_large_product_streams_through_local_memory(tmp_path: Path) -> None:
    nodes = (N("MatMul", "xw", "y"), N("Add", "yb", "z"), N("Relu", "z", "r"), N("Softmax", "r", "o", {"axis": -1}))
    inputs = {"x": f(8192, 256), "w": f(256, 512) / np.float32(16), "b": f(512)}
    app = agree(tmp_path, nodes, inputs, {"o": FLOAT}, options={"float_dtype": "float", "sram_budget": 0.2})
    assert all(extent(t.layout, Level.TIME) > 1 for t in (app.inputs[0], app.outputs[0]))


def test_what_cannot_be_cut_is_named(tmp_path: Path) -> None:
    nodes = (N("ArgMax", "x", "y"),)
    with pytest.raises(UnsupportedError, match=r"PF0421.*program.py:1.*ArgMax 'n0' needs \d+ long words per PE"):
        agree(tmp_path, nodes, {"x": f(500_000)}, {"y": LONG}, {}, {"sram_budget": 0.01})


def graph_of(op: str, shapes: tuple[tuple[int, ...], ...], result: tuple[int, ...], **attributes: object) -> CoreGraph:
    names = tuple("abc"[: len(shapes)])
    specs = {**{n: Spec(s, F) for n, s in zip(names, shapes, strict=True)}, "y": Spec(result, F)}
    node = MNNode("n", op, names, ("y",), tuple(attributes.items()))  # type: ignore[arg-type]
    return CoreGraph(specs, names, (), ("y",), {}, [node])


PATTERNS = {
    "Add": (graph_of("Add", ((8, 1), (4,)), (8, 4)), "0-|1", "01"),
    "MatMul": (graph_of("MatMul", ((5, 8, 3), (3, 4)), (5, 8, 4)), "0rs|sc", "0rc"),
    "ReduceMax": (graph_of("ReduceMax", ((5, 8, 3),), (5, 3), axes=(1,), keepdims=0), "012", "02"),
    "ArgMax": (graph_of("ArgMax", ((5, 8),), (5, 1), axis=1, keepdims=1), "0-", "0-"),
    "Transpose": (graph_of("Transpose", ((5, 8, 3),), (3, 5, 8), perm=(2, 0, 1)), "012", "201"),
    "Expand": (graph_of("Expand", ((8, 1),), (5, 8, 3)), "1-", "012"),
    "Tile": (graph_of("Tile", ((8, 2),), (8, 6)), "0-", "0-"),
    "Concat": (graph_of("Concat", ((8, 2), (8, 3)), (8, 5), axis=1), "0-|0-", "0-"),
    "Slice": (graph_of("Slice", ((8, 9),), (8, 5), starts=(0, 2), steps=(1, 1)), "0-", "0-"),
    "Pad": (graph_of("Pad", ((8, 9),), (9, 9), before=(1, 0), mode="constant", bits=0), "-1", "-1"),
    "Reshape": (graph_of("Reshape", ((6, 4, 3), ), (2, 3, 4, 3)), "-23", "--23"),
    "Gather": (graph_of("Gather", ((9, 7), (5, 3)), (5, 3, 7), axis=0), "-1|ij", "ij1"),
    "GatherElements": (graph_of("GatherElements", ((9, 7, 6), (5, 7, 4)), (5, 7, 4), axis=0), "-1-|-1-", "-1-"),
    "ScatterElements": (graph_of("ScatterElements", ((9, 7), (5, 7), (5, 7)), (9, 7), axis=0), "-1|-1|-1", "-1"),
    "TopK": (graph_of("TopK", ((8, 9),), (8, 3), axis=1), "0-", "0-"),
    "CumSum": (graph_of("CumSum", ((8, 9),), (8, 9), axis=0, exclusive=0, reverse=0), "-1", "-1"),
}  # fmt: skip


@pytest.mark.parametrize("op", PATTERNS)
def test_pieces_of_operands_belong_to_pieces_of_results(op: str) -> None:
    graph, operands, result = PATTERNS[op]
    found = pattern(graph, graph.nodes[0])
    labels = [label for axes in (*found.inputs, *found.outputs) for label in axes]
    letters = [letter for letter in operands + result if letter != "|"]
    assert [label is None for label in labels] == [letter == "-" for letter in letters]
    pairs = dict(zip(letters, labels, strict=True))
    assert all(pairs[letter] == label for letter, label in zip(letters, labels, strict=True))


def test_products_are_summed_in_order_and_pieces_run_one_after_the_other() -> None:
    graph = graph_of("MatMul", ((64, 3000), (3000, 32)), (64, 32))
    indices = Indices.of(graph, "float")
    indices.halvings = {("a", 1): 2}
    cut = sliced(graph, indices)
    assert [node.op for node in cut.nodes] == ["MatMul", "MatMul", "Add", "MatMul", "Add"]
    assert cut.inputs == ("a[:,0]", "a[:,1]", "a[:,2]", "b[0,:]", "b[1,:]", "b[2,:]")
    assert [cut.specs[name].shape[1] for name in cut.inputs[:3]] == [1024, 1024, 952]
    assert cut.outputs == ("y",)
    assert cut.pieces["b[2,:]"].time == 2


def test_an_axis_that_is_needed_as_a_whole_is_joined() -> None:
    graph = graph_of("Add", ((4, 6144), (6144,)), (4, 6144))
    graph.specs["z"] = Spec((4, 6144), F)
    graph.nodes.append(MNNode("m", "CumSum", ("y",), ("z",), (("axis", 1), ("exclusive", 0), ("reverse", 0))))
    graph.outputs = ("z",)
    indices = Indices.of(graph, "float")
    indices.halvings = {("a", 1): 2}
    cut = sliced(graph, indices)
    assert [node.op for node in cut.nodes] == ["Add", "Add", "Add", "Concat", "CumSum"]
    assert cut.outputs == ("z",)


def test_a_tensor_whose_pieces_are_too_small_for_slices_keeps_its_image() -> None:
    graph = graph_of("Add", ((4, 6), (6,)), (4, 6))
    indices = Indices.of(graph, "float")
    indices.halvings = {("a", 1): 2}
    cut = sliced(graph, indices)
    assert cut.inputs == ("a[:,0]", "a[:,1]", "a[:,2]", "b")
    assert sorted(node.op for node in cut.nodes) == ["Add"] * 3 + ["Slice"] * 3


def test_the_image_of_a_tensor_has_its_pieces_one_after_the_other() -> None:
    piece = Piece("x", (2, 1), (3, 2), (64, 16), written=True)
    layout = Layout.parse("((4_PE:1, 16_MAB:1), (16:1))")
    assert str(image_layout(piece, layout)) == "((3_Time:2, 4_PE:1, 16_MAB:1), (2_Time:1, 16:1))"
    assert piece.time == 5
    assert suits(Spec((64, 16), F), piece, layout)
    assert not suits(Spec((64, 16), F), piece, Layout.parse("((4_PE:1, 32:1), (16:32))"))


def test_a_product_larger_than_every_way_of_its_kernel_is_cut() -> None:
    graph = graph_of("MatMul", ((2048, 4096), (4096, 4096)), (2048, 4096))
    indices = Indices.of(graph, "half")
    (node,) = graph.nodes
    assert indices.load(node) > NOWHERE
    assert indices.cut(2 * LM_WORDS)
    assert indices.load(node) <= 2 * LM_WORDS


def test_the_cheapest_of_several_cuts_is_taken() -> None:
    graph = graph_of("MatMul", ((16, 16384), (16384, 16)), (16, 16))
    tried: list[tuple[int, ...]] = []

    def attempt(candidate: CoreGraph) -> tuple[int, tuple[int, ...]]:
        piece = candidate.specs[candidate.nodes[0].inputs[0]].shape
        tried.append(piece)
        return -piece[1], piece

    assert in_pieces(graph, 16, "float", frozenset(), attempt)[1][1] == max(columns for _, columns in tried)
    assert len(set(tried)) > 2
