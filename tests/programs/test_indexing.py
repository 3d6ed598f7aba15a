"""Indexing, sums and largest elements along axes that are too long for one PE, against onnxruntime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.programs.general import BOOL, DOUBLE, FLOAT, INT, LONG, Array, Case, Node, agree

RNG = np.random.default_rng(23)
TYPES = {FLOAT: np.float32, DOUBLE: np.float64, INT: np.int32, LONG: np.int64, BOOL: np.bool_}


def values(element: int, *shape: int) -> Array:
    return RNG.integers(0 if element == BOOL else -50, 2 if element == BOOL else 50, shape).astype(TYPES[element])


def chosen(length: int, *shape: int, element: int = LONG) -> Array:
    """Indices, half of them from the end, a third of them among the first three rows."""
    found = np.where(RNG.random(shape) < 0.3, RNG.integers(0, 3, shape), RNG.integers(-length, length, shape))
    return found.astype(TYPES[element])


def different(length: int, count: int, others: int) -> Array:
    """Indices along axis 0 that are different in each column: equal ones may be written in any order."""
    found = np.stack([RNG.permutation(length)[:count] for _ in range(others)], axis=1)
    return np.where(RNG.random(found.shape) < 0.5, found, found - length)


def gather(element: int, data: tuple[int, ...], count: int, axis: int = 0) -> Case:
    node = Node("Gather", "xi", "y", {"axis": axis})
    return Case((node,), {"x": values(element, *data), "i": chosen(data[axis], count)}, {"y": element})


def gather_elements(element: int, data: tuple[int, ...], index: tuple[int, ...], axis: int, kind: int = LONG) -> Case:
    node = Node("GatherElements", "xi", "y", {"axis": axis})
    indices = chosen(data[axis], *index, element=kind)
    return Case((node,), {"x": values(element, *data), "i": indices}, {"y": element})


def scatter_nd(element: int, data: tuple[int, ...], count: int, reduction: str) -> Case:
    node = Node("ScatterND", "xiu", "y", {"reduction": reduction})
    indices = different(data[0], count, 1) if reduction == "none" else chosen(data[0], count, 1)
    updates = values(element, count, *data[1:])
    return Case((node,), {"x": values(element, *data), "i": indices, "u": updates}, {"y": element})


def scatter_elements(element: int, data: tuple[int, int], count: int, reduction: str, axis: int = 0) -> Case:
    node = Node("ScatterElements", "xiu", "y", {"reduction": reduction, "axis": axis})
    others = data[1 - axis]
    indices = different(data[axis], count, others) if reduction == "none" else chosen(data[axis], count, others)
    indices = indices if axis == 0 else indices.T
    return Case(
        (node,), {"x": values(element, *data), "i": indices, "u": values(element, *indices.shape)}, {"y": element}
    )


def running_sum(element: int, data: tuple[int, ...], axis: int, **directions: int) -> Case:
    node = Node("CumSum", "xa", "y", directions)
    return Case((node,), {"x": values(element, *data)}, {"y": element}, {"a": np.array(axis)})


def largest(element: int, data: tuple[int, ...], k: int, axis: int, **attributes: int) -> Case:
    """With many equal elements, of which the first ones count."""
    node = Node("TopK", "xk", "yi", {"axis": axis, **attributes})
    return Case((node,), {"x": values(element, *data)}, {"y": element, "i": LONG}, {"k": np.array([k])})


CASES: dict[str, Case] = {
    "rows of a long table": gather(FLOAT, (32000, 64), 100),
    "rows of a long table in pieces": gather(FLOAT, (70000, 300), 12),
    "columns of a wide table": gather(FLOAT, (12, 9000), 40, axis=1),
    "elements, a few": gather_elements(FLOAT, (30, 5003), (30, 1), 1),
    "elements, a few truth values": gather_elements(BOOL, (700, 12), (2, 9), 0),
    "elements, many": gather_elements(FLOAT, (30, 5003), (30, 50), 1, INT),
    "elements, many doubles": gather_elements(DOUBLE, (3000, 6), (70, 6), 0),
    "elements, many integers": gather_elements(LONG, (2, 2500, 7), (2, 30, 5), 1, INT),
    "elements of a vector": gather_elements(FLOAT, (70000,), (33,), 0),
    "elements of one column": gather_elements(INT, (3, 9000, 2), (1, 41, 1), 1),
    "add rows": scatter_nd(FLOAT, (32000, 64), 200, "add"),
    "add rows one after the other": scatter_nd(FLOAT, (9000, 9), 2100, "add"),
    "add rows in pieces": scatter_nd(FLOAT, (70000, 300), 12, "add"),
    "add rows of integers": scatter_nd(LONG, (5000, 3, 5), 60, "add"),
    "replace rows": scatter_nd(BOOL, (6000, 33), 90, "none"),
    "largest of rows": scatter_nd(INT, (6000, 33), 90, "max"),
    "multiply rows": scatter_nd(DOUBLE, (3000, 20), 9, "mul"),
    "least numbers": scatter_nd(FLOAT, (60000,), 30, "min"),
    "add elements": scatter_elements(FLOAT, (5003, 60), 40, "add"),
    "add elements one after the other": scatter_elements(FLOAT, (60, 3000), 400, "add", axis=1),
    "add a few elements": scatter_elements(FLOAT, (60, 5003), 3, "add", axis=1),
    "replace a few elements": scatter_elements(LONG, (5003, 7), 1, "none"),
    "sums of rows": running_sum(FLOAT, (3, 5003), 1),
    "sums of columns from the end": running_sum(INT, (3000, 7), 0, reverse=1),
    "sums before": running_sum(LONG, (2, 700, 3), 1, exclusive=1),
    "sums behind": running_sum(FLOAT, (100000,), 0, exclusive=1, reverse=1),
    "largest of a row": largest(FLOAT, (5, 5003), 8, 1),
    "largest of a vector": largest(FLOAT, (30000,), 3, 0),
    "smallest of columns": largest(INT, (1000, 20), 5, 0, largest=0),
    "the largest one": largest(FLOAT, (2, 700, 3), 1, 1),
    "replace elements": scatter_elements(BOOL, (3000, 7), 50, "none"),
}


@pytest.mark.parametrize("name", CASES)
def test_long_axes(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    agree(tmp_path, case.nodes, case.inputs, case.outputs, case.constants, tolerance=case.tolerance)


def test_zeros_are_not_loaded(tmp_path: Path) -> None:
    """Rows that are added to zeros, as for the gradient of an embedding: only indices and updates are read."""
    nodes = (Node("Expand", "os", "x"), Node("ScatterND", "xiu", "y", {"reduction": "add"}))
    inputs = {"i": chosen(20000, 100, 1), "u": values(FLOAT, 100, 60)}
    constants = {"o": np.zeros((), np.float32), "s": np.array([20000, 60])}
    app = agree(tmp_path, nodes, inputs, {"y": FLOAT}, constants)
    loaded = sum(tensor.info.end - tensor.info.begin for tensor in app.constants)
    assert loaded < 20000


def test_one_index_for_each_row(tmp_path: Path) -> None:
    """Elements with the index of their row, as index_add has them, take as long as rows."""
    updates, indices = values(FLOAT, 64, 60), chosen(5000, 64)
    data = values(FLOAT, 5000, 60)
    spread = (Node("Expand", "is", "j"), Node("ScatterElements", "xju", "y", {"reduction": "add"}))
    inputs = {"x": data, "i": indices.reshape(64, 1), "u": updates}
    alike = agree(tmp_path, spread, inputs, {"y": FLOAT}, {"s": np.array([64, 60])})
    rows = (Node("ScatterND", "xiu", "y", {"reduction": "add"}),)
    (tmp_path / "rows").mkdir()
    direct = agree(tmp_path / "rows", rows, inputs, {"y": FLOAT})
    assert dict(alike.statistics)["steps"] <= 1.1 * dict(direct.statistics)["steps"]
