"""Gather, GatherElements and ScatterElements against NumPy, in both memories and with junk around."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.kernels.api import Binding, Job, Placed, Spec
from pfcomp.kernels.indexing import Indexing, merged, wide
from pfcomp.layout import Layout
from tests.kernels.harness import HOST, held, run_kernel

LM0, LM1 = Location.LM0, Location.LM1
Array = NDArray[np.generic]


class Memory:
    """Hands out places that do not overlap."""

    def __init__(self) -> None:
        self.next = {LM0: 8, LM1: 4}

    def place(self, name: str, spec: Spec, layout: Layout, location: Location) -> MNValue:
        value = held(name, spec.shape, layout, location, self.next[location], spec.dtype)
        self.next[location] += value.size + 4
        return value

    def scratch(self, words: int, location: Location) -> MNValue:
        return self.place("scratch", Spec((words,), DType.LONG), Layout.parse(f"(({words}:1))"), location)


def run(job: Job, arrays: list[Array], locations: str, binding: Binding) -> tuple[Array, int]:
    """Run a job with the operands and the result in the local memories named by the digits of `locations`."""
    memory = Memory()
    where = [LM1 if digit == "1" else LM0 for digit in locations]
    inputs = tuple(
        memory.place(f"x{k}", spec, layout, where[k])
        for k, (spec, layout) in enumerate(zip(job.inputs, binding.inputs, strict=True))
    )
    output = memory.place("y", job.outputs[0], binding.outputs[0], where[-1])
    placed = Placed(inputs, (output,), tuple(memory.scratch(one.words, one.location or LM0) for one in binding.scratch))
    ran = run_kernel(
        lambda context: Indexing().emit(context, job, binding, placed), list(zip(inputs, arrays, strict=True)), [output]
    )
    return ran.values["y"], ran.steps


def job_of(op: str, arrays: list[tuple[Array, DType]], shape: tuple[int, ...], **attributes: int | str) -> Job:
    inputs = tuple(Spec(array.shape, dtype) for array, dtype in arrays)
    return Job(op, inputs, (Spec(shape, arrays[0][1]),), tuple(attributes.items()))


def scattered(
    data: Array, indices: Array, updates: Array, axis: int, reduction: str, *, whole_rows: bool = False
) -> Array:
    """Updates written one after the other; with `whole_rows` there is one index for all elements of a row."""
    expected = data.copy()
    for at in np.ndindex(*updates.shape):
        index = int(indices[at[axis]] if whole_rows else indices[at])
        place = (*at[:axis], index % data.shape[axis], *at[axis + 1 :])
        old, new = expected[place], updates[at]
        expected[place] = {"none": new, "add": old + new, "mul": old * new, "max": max(old, new), "min": min(old, new)}[
            reduction
        ]
    return expected


def bindings(job: Job, offered: str = "") -> Iterator[Binding]:
    layouts = [[Layout.parse(offered)] if offered else [], *[[] for _ in job.inputs[1:]]]
    assert Indexing().refuse(job) == ""
    return iter(Indexing().bindings(job, layouts))


def numbers(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> Array:
    low, high = (0, 2) if dtype is DType.BOOL else (-50, 50)
    return np.random.default_rng(seed).integers(low, high, shape).astype(HOST[dtype])


GATHERS = [
    ((30, 64), (11,), 0, DType.FLOAT, DType.LONG, "", "010"),
    ((30, 64), (11,), 0, DType.FLOAT, DType.INT, "", "101"),
    ((7, 1000), (3,), 0, DType.FLOAT, DType.LONG, "", "111"),
    ((2, 9, 5), (4, 300), 1, DType.LONG, DType.LONG, "", "000"),
    ((2, 9, 5), (), 1, DType.DOUBLE, DType.INT, "", "110"),
    ((40,), (70,), 0, DType.BOOL, DType.LONG, "", "001"),
    ((6, 40), (9,), 1, DType.FLOAT, DType.LONG, "((3_PE:1, 2_W:1), (40:4))", "100"),
    ((6, 40), (9,), 1, DType.FLOAT, DType.LONG, "((6:64), (40:1))", "100"),
]


Gather = tuple[Job, list[Array], Array]
"""A job, its operands, and what its result must be."""


def gather(shape: tuple[int, ...], index: tuple[int, ...], axis: int, dtype: DType, kind: DType) -> Gather:
    """Rows of random data, at indices of which some count from the end."""
    data = numbers(shape, dtype)
    indices = np.random.default_rng(1).integers(-shape[axis], shape[axis], index).astype(HOST[kind])
    expected = np.take(data, indices, axis=axis)
    return job_of("Gather", [(data, dtype), (indices, kind)], expected.shape, axis=axis), [data, indices], expected


@pytest.mark.parametrize(("shape", "index", "axis", "dtype", "kind", "offered", "locations"), GATHERS)
def test_gather(
    shape: tuple[int, ...],
    index: tuple[int, ...],
    axis: int,
    dtype: DType,
    kind: DType,
    offered: str,
    locations: str,
) -> None:
    job, operands, expected = gather(shape, index, axis, dtype, kind)
    result, _ = run(job, operands, locations, next(bindings(job, offered)))
    np.testing.assert_array_equal(result, expected)


MERGED = [
    ((16000, 8), (5,), DType.FLOAT, DType.LONG, 1, "101"),
    ((16000, 8), (5, 3), DType.FLOAT, DType.INT, 1, "010"),
    ((1000, 100), (9,), DType.FLOAT, DType.LONG, 1, "100"),
    ((30000, 128), (2, 7), DType.FLOAT, DType.LONG, 3, "000"),
    ((20000, 30), (), DType.FLOAT, DType.INT, 2, "011"),
    ((50000, 33), (40,), DType.LONG, DType.LONG, 3, "110"),
    ((40000,), (21, 2), DType.DOUBLE, DType.LONG, 2, "101"),
]


@pytest.mark.parametrize(("shape", "index", "dtype", "kind", "levels", "locations"), MERGED)
def test_gather_from_spread_rows(
    shape: tuple[int, ...], index: tuple[int, ...], dtype: DType, kind: DType, levels: int, locations: str
) -> None:
    job, operands, expected = gather(shape, index, 0, dtype, kind)
    way = merged.merged_of(job)
    assert way is not None
    assert len(way.holders) == levels
    result, _ = run(job, operands, locations, merged.binding_of(way))
    np.testing.assert_array_equal(result, expected)


WIDE = [
    ((3000, 64), (5,), 0, DType.FLOAT, DType.LONG, 1, "101"),
    ((5000, 300), (2, 7), 0, DType.FLOAT, DType.INT, 1, "010"),
    ((30000, 130), (6, 11), 0, DType.FLOAT, DType.LONG, 2, "100"),
    ((50, 20000), (9, 3), 1, DType.INT, DType.INT, 2, "011"),
    ((20000, 33), (), 0, DType.LONG, DType.LONG, 2, "001"),
    ((9000,), (70,), 0, DType.DOUBLE, DType.LONG, 1, "000"),
    ((100000, 3), (41,), 0, DType.BOOL, DType.INT, 2, "110"),
]


@pytest.mark.parametrize(("shape", "index", "axis", "dtype", "kind", "levels", "locations"), WIDE)
def test_gather_from_rows_over_l1bs(
    shape: tuple[int, ...],
    index: tuple[int, ...],
    axis: int,
    dtype: DType,
    kind: DType,
    levels: int,
    locations: str,
) -> None:
    job, operands, expected = gather(shape, index, axis, dtype, kind)
    way = wide.wide_of(job)
    assert way is not None
    assert len(way.holders) == levels
    result, _ = run(job, operands, locations, wide.binding_of(way))
    np.testing.assert_array_equal(result, expected)


ELEMENTS = [
    ((30, 64), (11, 64), 0, DType.FLOAT, DType.LONG, "010"),
    ((30, 64), (11, 64), 0, DType.FLOAT, DType.INT, "101"),
    ((3, 20), (2, 37), 1, DType.FLOAT, DType.INT, "110"),
    ((2, 9, 5), (2, 4, 3), 1, DType.DOUBLE, DType.INT, "011"),
    ((5, 8, 1000), (5, 3, 1000), 1, DType.LONG, DType.LONG, "000"),
    ((50,), (33,), 0, DType.INT, DType.INT, "001"),
]


@pytest.mark.parametrize(("shape", "index", "axis", "dtype", "kind", "locations"), ELEMENTS)
def test_gather_elements(
    shape: tuple[int, ...], index: tuple[int, ...], axis: int, dtype: DType, kind: DType, locations: str
) -> None:
    data = numbers(shape, dtype)
    indices = np.random.default_rng(1).integers(-shape[axis], shape[axis], index).astype(HOST[kind])
    part = data[tuple(slice(None) if n == axis else slice(size) for n, size in enumerate(index))]
    expected = np.take_along_axis(part, indices, axis=axis)
    job = job_of("GatherElements", [(data, dtype), (indices, kind)], index, axis=axis)
    result, _ = run(job, [data, indices], locations, next(bindings(job)))
    np.testing.assert_array_equal(result, expected)


SCATTERS = [
    ((30, 64), (11, 64), 0, DType.FLOAT, DType.LONG, "add", "0101"),
    ((30, 64), (11, 64), 0, DType.FLOAT, DType.INT, "add", "1010"),
    ((30, 6), (20, 5), 0, DType.FLOAT, DType.INT, "none", "0000"),
    ((30, 6), (20, 5), 0, DType.FLOAT, DType.LONG, "none", "0001"),
    ((3, 20), (3, 37), 1, DType.INT, DType.INT, "max", "1100"),
    ((3, 20), (3, 17), 1, DType.INT, DType.LONG, "min", "1101"),
    ((2, 9, 5), (2, 4, 3), 1, DType.DOUBLE, DType.INT, "mul", "0110"),
    ((9, 7, 1000), (3, 7, 1000), 0, DType.LONG, DType.LONG, "add", "0011"),
    ((40,), (9,), 0, DType.FLOAT, DType.LONG, "mul", "1110"),
    ((40,), (9,), 0, DType.BOOL, DType.LONG, "none", "1011"),
    ((3000, 8), (20, 8), 0, DType.FLOAT, DType.LONG, "add", "0101"),
    ((4, 9000), (4, 37), 1, DType.FLOAT, DType.INT, "add", "0010"),
    ((5, 9000), (3, 37), 1, DType.LONG, DType.LONG, "none", "0101"),
    ((2, 700, 30), (2, 4, 30), 1, DType.INT, DType.INT, "max", "1011"),
]


@pytest.mark.parametrize(("shape", "index", "axis", "dtype", "kind", "reduction", "locations"), SCATTERS)
def test_scatter_elements(
    shape: tuple[int, ...],
    index: tuple[int, ...],
    axis: int,
    dtype: DType,
    kind: DType,
    reduction: str,
    locations: str,
) -> None:
    """With duplicates where they are combined; the order of additions is that of the axis."""
    rng = np.random.default_rng(2)
    data, updates = numbers(shape, dtype), numbers(index, dtype, 3)
    if reduction == "none":
        order = rng.permuted(np.broadcast_to(np.arange(shape[axis])[:, None], (shape[axis], updates.size)), axis=0)
        chosen = order[: index[axis], : updates.size // index[axis]]
        moved = (index[axis], *[size for n, size in enumerate(index) if n != axis])
        indices = np.moveaxis(chosen.reshape(moved), 0, axis).copy()
        indices[indices % 2 == 0] -= shape[axis]
    else:
        indices = rng.integers(-shape[axis], shape[axis], index)
    indices = indices.astype(HOST[kind])
    expected = scattered(data, indices, updates, axis, reduction)
    job = job_of(
        "ScatterElements",
        [(data, dtype), (indices, kind), (updates, dtype)],
        shape,
        axis=axis,
        reduction=reduction,
    )
    for binding in bindings(job):
        result, _ = run(job, [data, indices, updates], locations, binding)
        np.testing.assert_allclose(result, expected, rtol=1e-6 * 20 if dtype is DType.FLOAT else 1e-12)


ROWS = [
    ((30, 64), 11, 0, DType.FLOAT, DType.LONG, "add", "0101"),
    ((3000, 64), 50, 0, DType.FLOAT, DType.INT, "add", "1110"),
    ((3000, 100), 30, 0, DType.FLOAT, DType.LONG, "none", "1001"),
    ((4000, 2, 3), 21, 0, DType.INT, DType.LONG, "max", "0000"),
    ((3, 5000, 5), 17, 1, DType.LONG, DType.INT, "add", "1011"),
    ((2, 9, 20000), 5, 1, DType.FLOAT, DType.LONG, "mul", "1110"),
    ((9, 20000), 13, 0, DType.DOUBLE, DType.LONG, "mul", "0111"),
    ((9000, 33), 40, 0, DType.DOUBLE, DType.INT, "min", "1100"),
    ((70000,), 40, 0, DType.FLOAT, DType.INT, "add", "1110"),
    ((5000, 4), 9, 0, DType.BOOL, DType.LONG, "none", "1101"),
]


@pytest.mark.parametrize(("shape", "count", "axis", "dtype", "kind", "reduction", "locations"), ROWS)
def test_scatter_rows(
    shape: tuple[int, ...], count: int, axis: int, dtype: DType, kind: DType, reduction: str, locations: str
) -> None:
    """Half of the rows are chosen again and again, some from the end; the last one of equal rows stays."""
    rng = np.random.default_rng(5)
    updates = numbers((*shape[:axis], count, *shape[axis + 1 :]), dtype, 3)
    indices = rng.integers(-shape[axis], shape[axis], count)
    indices[::2] = rng.choice(indices[:3], len(indices[::2]))
    indices = indices.astype(HOST[kind])
    attributes: dict[str, int | str] = {"axis": axis, "reduction": reduction}
    for data in (numbers(shape, dtype), np.zeros(shape, HOST[dtype])):
        given = [(data, dtype)] if data.any() else []
        extra = {} if given else {"fill": 0}
        job = job_of("ScatterRows", [(updates, dtype), (indices, kind), *given], shape, **attributes, **extra)
        expected = scattered(data, indices, updates, axis, reduction, whole_rows=True)
        ways = list(bindings(job))
        assert ways
        for binding in ways:
            places = locations if given else locations[:2] + locations[-1]
            result, _ = run(job, [updates, indices, *[array for array, _ in given]], places, binding)
            np.testing.assert_allclose(result, expected, rtol=1e-5 if dtype is DType.FLOAT else 1e-12)


def test_indices_outside_write_nothing() -> None:
    data, updates = numbers((8, 4), DType.FLOAT), numbers((3, 4), DType.FLOAT, 1)
    indices = np.array([[8] * 4, [-9] * 4, [1 << 20] * 4], np.int32)
    job = job_of(
        "ScatterElements",
        [(data, DType.FLOAT), (indices, DType.INT), (updates, DType.FLOAT)],
        (8, 4),
        axis=0,
        reduction="add",
    )
    result, _ = run(job, [data, indices, updates], "0101", next(bindings(job)))
    np.testing.assert_array_equal(result, data)


def test_refusals() -> None:
    data = numbers((5, 4), DType.INT)
    indices = np.zeros((6, 5), np.int64)
    beyond = job_of("GatherElements", [(data, DType.INT), (indices, DType.LONG)], (6, 5), axis=0)
    assert "more indices than data in axis 1" in Indexing().refuse(beyond)
    huge = Job("Gather", (Spec((1 << 22, 640), DType.FLOAT), Spec((3,), DType.LONG)), (), (("axis", 0),))
    assert "long words in each PE" in Indexing().refuse(huge)
    types = (Spec((5, 4), DType.INT), Spec((5, 4), DType.LONG), Spec((5, 4), DType.INT))
    product = Job("ScatterElements", types, (), (("axis", 0), ("reduction", "mul")))
    assert "reduction mul of Int" in Indexing().refuse(product)
