"""CumSum and TopK against numpy: rows in Addr, everything else in random places."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.ir.model import DType, Location
from pfcomp.kernels.api import Job, Placed, Spec
from pfcomp.kernels.scan import CumSum, TopK
from pfcomp.layout import Layout, Level, Subaxis, extent, verify
from tests.kernels.harness import HOST, Ran, held, run_kernel
from tests.layout.strategies import valid_layouts

PLACES = (Location.LM0, 8), (Location.LM1, 4), (Location.LM0, 1200)


def run(kernel, job: Job, layout: Layout, array: np.ndarray) -> Ran:
    assert kernel.refuse(job) == ""
    binding = next(iter(kernel.bindings(job, [[layout]])))
    assert binding.inputs[0] == layout
    for output, spec in zip(binding.outputs, job.outputs, strict=True):
        verify(output, spec.shape, spec.dtype.bits)
    source = held("x", array.shape, layout, *PLACES[0], job.inputs[0].dtype)
    targets = tuple(
        held(f"y{k}", spec.shape, output, *PLACES[k + 1], spec.dtype)
        for k, (spec, output) in enumerate(zip(job.outputs, binding.outputs, strict=True))
    )
    placed = Placed((source,), targets)
    return run_kernel(lambda c: kernel.emit(c, job, binding, placed), [(source, array)], list(targets))


@st.composite
def cases(draw, bits):
    """A layout of few elements with one more axis in Addr, its shape, and that axis."""
    layout, shape, _ = draw(valid_layouts(bits=bits, max_rank=3, extra=((Level.TIME, 1), (Level.ADDR, 8))))
    axis, size = draw(st.integers(0, len(shape))), draw(st.integers(1, 12))
    digit = (Subaxis(size, Level.ADDR, extent(layout, Level.ADDR)),)
    axes = (*layout.axes[:axis], digit, *layout.axes[axis:])
    return Layout(axes), (*shape[:axis], size - draw(st.integers(0, size // 3)), *shape[axis:]), axis


def cumsum_job(shape: tuple[int, ...], axis: int, exclusive: int, reverse: int, dtype: DType) -> Job:
    attributes = (("axis", axis), ("exclusive", exclusive), ("reverse", reverse))
    return Job("CumSum", (Spec(shape, dtype),), (Spec(shape, dtype),), attributes)


@settings(max_examples=8)
@given(st.data(), st.sampled_from([DType.FLOAT, DType.INT, DType.LONG]), st.integers(0, 1), st.integers(0, 1))
def test_cumsum(choose, dtype, exclusive, reverse) -> None:
    layout, shape, axis = choose.draw(cases(dtype.bits))
    array = np.random.default_rng(0).integers(-1000, 1000, shape).astype(HOST[dtype])
    ran = run(CumSum(), cumsum_job(shape, axis, exclusive, reverse, dtype), layout, array)
    flipped = np.flip(array, axis) if reverse else array
    expected = np.cumsum(flipped, axis) - (flipped if exclusive else 0)  # exact: small whole numbers
    np.testing.assert_array_equal(ran.values["y0"], np.flip(expected, axis) if reverse else expected)


def test_cumsum_in_place() -> None:
    array = np.arange(40, dtype=np.float32).reshape(5, 8)
    layout = Layout.parse("((5:1), (4_PE:1, 2_W:1))")
    value = held("x", (5, 8), layout, Location.LM0, 8)
    for exclusive in (0, 1):
        job = cumsum_job((5, 8), 0, exclusive, 0, DType.FLOAT)
        binding = next(iter(CumSum().bindings(job, [[layout]])))
        assert binding.in_place == ((0, 0),)
        placed = Placed((value,), (value,))
        ran = run_kernel(lambda c: CumSum().emit(c, job, binding, placed), [(value, array)], [value])  # noqa: B023
        np.testing.assert_array_equal(ran.values["x"], np.cumsum(array, 0) - (array if exclusive else 0))


def topk_job(shape: tuple[int, ...], axis: int, k: int, largest: int, dtype: DType = DType.FLOAT) -> Job:
    out = (*shape[:axis], k, *shape[axis + 1 :])
    attributes = (("axis", axis), ("largest", largest), ("sorted", 1))
    return Job("TopK", (Spec(shape, dtype),), (Spec(out, dtype), Spec(out, DType.LONG)), attributes)


def check_topk(ran: Ran, array: np.ndarray, axis: int, k: int, largest: int) -> None:
    rank = -array.astype(np.float64) if largest else array.astype(np.float64)
    indices = np.argsort(rank, axis=axis, kind="stable").take(range(k), axis)
    np.testing.assert_array_equal(ran.values["y1"], indices)
    np.testing.assert_array_equal(ran.values["y0"], np.take_along_axis(array, indices, axis))


@settings(max_examples=8)
@given(st.data(), st.sampled_from([DType.FLOAT, DType.INT]), st.integers(0, 1))
def test_topk(choose, dtype, largest) -> None:
    layout, shape, axis = choose.draw(cases(32))
    k = choose.draw(st.integers(1, shape[axis]))
    values = [-np.inf, -2.5, -0.0, 0.0, 1.5, 2.0, np.inf] if dtype is DType.FLOAT else [-(2**31), -5, 0, 3, 2**31 - 1]
    array = np.random.default_rng(k).choice(np.array(values, HOST[dtype]), shape)
    check_topk(run(TopK(), topk_job(shape, axis, k, largest, dtype), layout, array), array, axis, k, largest)


def test_sort_of_many() -> None:
    array = np.random.default_rng(1).standard_normal((40, 8)).astype(np.float32)
    ran = run(TopK(), topk_job((40, 8), 0, 40, 0), Layout.parse("((40:1), (8_MAB:1))"), array)
    check_topk(ran, array, 0, 40, 0)


def test_top_of_many() -> None:
    array = np.random.default_rng(1).standard_normal((150, 8)).astype(np.float32)
    ran = run(TopK(), topk_job((150, 8), 0, 3, 1), Layout.parse("((150:1), (4_MAB:1, 2_W:1))"), array)
    check_topk(ran, array, 0, 3, 1)


def test_refusals() -> None:
    assert "Long" in TopK().refuse(topk_job((9,), 0, 2, 1, DType.LONG))
    assert "64" in TopK().refuse(topk_job((90,), 0, 65, 1))
    assert "Bool" in CumSum().refuse(cumsum_job((9,), 0, 0, 0, DType.BOOL))


@pytest.mark.parametrize("kernel", [CumSum(), TopK()])
def test_other_layouts_are_replaced(kernel) -> None:
    job = topk_job((9, 4), 0, 2, 1) if isinstance(kernel, TopK) else cumsum_job((9, 4), 0, 0, 0, DType.FLOAT)
    across = Layout.parse("((9_MAB:1), (4:1))")
    (binding,) = kernel.bindings(job, [[across]])
    assert binding.inputs[0] == Layout.parse("((9:1), (2_PE:1, 2_W:1))")
