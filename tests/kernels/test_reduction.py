"""Reductions in random layouts against numpy; every copy of a result must be equal bit by bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.ir.model import DType, Location
from pfcomp.kernels.api import Job, Placed, Spec
from pfcomp.kernels.reduction import Reduction
from pfcomp.layout import Layout, Level, padded_shape, verify
from tests.kernels.harness import HOST, Ran, held, run_kernel
from tests.layout.strategies import valid_layouts

KERNEL = Reduction()
NUMPY = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod, "ReduceMean": np.mean}
EPSILON = {DType.FLOAT: 2.0**-24, DType.DOUBLE: 2.0**-53}


def job_of(op: str, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: int, dtype: DType = DType.FLOAT) -> Job:
    out = tuple(1 if a in axes else n for a, n in enumerate(shape) if keepdims or a not in axes)
    return Job(op, (Spec(shape, dtype),), (Spec(out, dtype),), (("axes", axes), ("keepdims", keepdims)))


def reduce(job: Job, layout: Layout, array: np.ndarray, places=((Location.LM0, 8), (Location.LM1, 4))) -> Ran | None:
    """The kernel's result, None if it does not take the layout."""
    bindings = list(KERNEL.bindings(job, [[layout]]))
    if not bindings:
        return None
    binding = bindings[0]
    verify(binding.outputs[0], job.outputs[0].shape, job.outputs[0].dtype.bits)
    source = held("x", array.shape, binding.inputs[0], *places[0], job.inputs[0].dtype)
    target = held("y", job.outputs[0].shape, binding.outputs[0], *places[1], job.outputs[0].dtype)
    placed = Placed((source,), (target,))
    return run_kernel(lambda c: KERNEL.emit(c, job, binding, placed), [(source, array)], [target])


def data(dtype: DType, shape: tuple[int, ...], op: str, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype in EPSILON:
        low, high = (0.99, 1.01) if op == "ReduceProd" else (-2, 1)
        return rng.uniform(low, high, shape).astype(HOST[dtype])
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape)
    info = np.iinfo(HOST[dtype])
    return rng.integers(info.min, info.max, shape, dtype=HOST[dtype], endpoint=True)


def check(job: Job, array: np.ndarray, result: np.ndarray) -> None:
    axes, keepdims = tuple(job.attribute("axes")), bool(job.attribute("keepdims"))
    dtype = job.inputs[0].dtype
    exact = dtype not in EPSILON or job.op in ("ReduceMax", "ReduceMin")
    wide = array if exact else array.astype(np.longdouble)
    expected = NUMPY[job.op](wide, axis=axes, keepdims=keepdims)
    if exact:
        np.testing.assert_array_equal(result, expected.astype(array.dtype))
        return
    count = max(2, np.prod([array.shape[axis] for axis in axes], dtype=int))
    size = np.abs(expected) if job.op == "ReduceProd" else NUMPY[job.op](np.abs(wide), axis=axes, keepdims=keepdims)
    slack = 4 if job.op in ("ReduceProd", "ReduceMean") else 1  # products are approximate (isa.md 18.2)
    assert (np.abs(result - expected) <= slack * count * EPSILON[dtype] * size).all()


@st.composite
def cases(draw, dtypes, ops):
    dtype = draw(st.sampled_from(dtypes))
    layout, shape, _ = draw(valid_layouts(bits=dtype.bits, extra=((Level.TIME, 1),)).filter(lambda case: case[1]))
    axes = draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))
    op = draw(st.sampled_from(ops))
    return job_of(op, shape, tuple(sorted(axes)), draw(st.integers(0, 1)), dtype), layout


@settings(max_examples=12)
@given(cases([DType.FLOAT], list(NUMPY)), st.integers(0, 99))
def test_floats(case, seed) -> None:
    job, layout = case
    array = data(DType.FLOAT, job.inputs[0].shape, job.op, seed)
    ran = reduce(job, layout, array)
    if ran is not None:
        check(job, array, ran.values["y"])


@settings(max_examples=6)
@given(cases([DType.INT, DType.LONG, DType.BOOL], ["ReduceMax", "ReduceMin"]), st.integers(0, 99))
def test_integer_extremes(case, seed) -> None:
    job, layout = case
    array = data(job.inputs[0].dtype, job.inputs[0].shape, job.op, seed)
    ran = reduce(job, layout, array)
    if ran is not None:
        check(job, array, ran.values["y"])


@settings(max_examples=6)
@given(cases([DType.INT, DType.LONG, DType.DOUBLE], ["ReduceSum"]), st.integers(0, 99))
def test_other_sums(case, seed) -> None:
    job, layout = case
    array = data(job.inputs[0].dtype, job.inputs[0].shape, job.op, seed)
    ran = reduce(job, layout, array)
    if ran is not None:
        check(job, array, ran.values["y"])


PARTS = [
    "((2_{0}:1, 4:4), (3_{0}:2, 4:1, 2_W:1))",
    "((2_{0}:2, 4:1, 2_W:1), (2_{0}:1, 3:4, 4_PE:1))",
    "((2_{0}:4, 5:1), (3_{0}:1, 2_PE:2))",
    "((7_{0}:1), (5:1, 2_PE:1), (2_PE:2))",
]


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceProd"])
@pytest.mark.parametrize("level", ["L2B", "L1B", "MAB"])
@pytest.mark.parametrize("layout", PARTS)
def test_part_of_a_level(op: str, level: str, layout: str) -> None:
    parsed = Layout.parse(layout.format(level))
    shape = tuple(size - 1 if size > 4 else size for size in padded_shape(parsed))
    array = data(DType.FLOAT, shape, op, 3)
    job = job_of(op, shape, (len(shape) - 2,), 0)
    ran = reduce(job, parsed, array, ((Location.LM1, 12), (Location.LM1, 0)))
    assert ran is not None
    check(job, array, ran.values["y"])


def test_long_sum_stays_accurate() -> None:
    array = np.full((600, 2), 0.1, np.float32)
    ran = reduce(job_of("ReduceSum", (600, 2), (0,), 0), Layout.parse("((600:1), (2_W:1))"), array)
    assert ran is not None
    np.testing.assert_allclose(ran.values["y"], 60.0, rtol=1e-6)


@pytest.mark.parametrize("op", ["ReduceSum", "ReduceMax", "ReduceProd"])
@pytest.mark.parametrize(("layout", "most"), [("((35:3, 3:1), (2_W:1))", 50), ("((70:1), (2:70, 2_PE:1))", 60)])
def test_few_results_of_many_addresses(op: str, layout: str, most: int) -> None:
    parsed = Layout.parse(layout)
    shape = padded_shape(parsed)
    array, job = data(DType.FLOAT, shape, op, 5), job_of(op, shape, (0,), 0)
    for places in (((Location.LM0, 8), (Location.LM0, 400)), ((Location.LM1, 8), (Location.LM0, 0))):
        ran = reduce(job, parsed, array, places)
        assert ran is not None
        check(job, array, ran.values["y"])
        assert ran.steps <= most


def test_shared_bits_are_refused() -> None:
    job = job_of("ReduceSum", (3, 5), (0,), 0)
    assert not list(KERNEL.bindings(job, [[Layout.parse("((3_MAB:5), (5_MAB:1))")]]))


def test_what_the_chip_cannot_multiply_is_refused() -> None:
    assert "ReduceProd of Int" in KERNEL.refuse(job_of("ReduceProd", (3,), (0,), 0, DType.INT))
    assert KERNEL.refuse(job_of("ReduceProd", (3,), (0,), 0)) == ""


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("shape", [(64, 10), (300, 700), (1, 5)])
def test_suggested_layouts(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    job = job_of("ReduceSum", shape, axes, 1)
    proposals = list(KERNEL.bindings(job, [[]]))
    assert len(proposals) > 1
    for binding in proposals:
        verify(binding.inputs[0], shape, 32)


@pytest.mark.parametrize(
    ("op", "shape", "layout", "axes", "most"),
    [
        ("ReduceMax", (256, 16), "((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))", (1,), 130),
        ("ReduceSum", (256, 16), "((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))", (1,), 84),
        ("ReduceSum", (256, 16), "((4_L2B:2, 8_L1B:1, 8_MAB:1), (2:1, 4_PE:1, 2_W:1))", (1,), 12),
        ("ReduceMax", (256, 16), "((4_L2B:2, 8_L1B:1, 4_PE:1, 2_W:1), (16:1))", (1,), 18),
        ("ReduceMax", (64, 10), "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", (1,), 27),
        ("ReduceSum", (64, 10), "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", (1,), 27),
        ("ReduceSum", (64, 10), "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", (0, 1), 37),
        ("ReduceSum", (64, 10), "((16_MAB:1, 4_PE:1), (5:1, 2_W:1))", (0, 1), 17),
    ],
)
def test_steps(op: str, shape: tuple[int, ...], layout: str, axes: tuple[int, ...], most: int) -> None:
    array = data(DType.FLOAT, shape, op, 0)
    job = job_of(op, shape, axes, 1)
    ran = reduce(job, Layout.parse(layout), array)
    assert ran is not None
    check(job, array, ran.values["y"])
    binding = next(iter(KERNEL.bindings(job, [[Layout.parse(layout)]])))
    assert ran.steps <= most
    assert ran.steps / 1.6 <= binding.steps <= ran.steps * 1.6
