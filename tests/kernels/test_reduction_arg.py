"""ArgMax and ArgMin in random layouts against numpy, with many equal elements, zeros of both signs and infinities."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.ir.model import DType, Location
from pfcomp.kernels.api import Job, Placed, Spec
from pfcomp.kernels.reduction import ArgReduction
from pfcomp.layout import Layout, Level, verify
from tests.kernels.harness import HOST, held, run_kernel
from tests.layout.strategies import valid_layouts

KERNEL = ArgReduction()
NUMPY = {"ArgMax": np.argmax, "ArgMin": np.argmin}


def run(op: str, array: np.ndarray, layout: Layout, axis: int, keepdims: int, dtype: DType = DType.FLOAT) -> int:
    """Steps of the program; -1 if the kernel does not take the layout."""
    out = tuple(1 if a == axis else n for a, n in enumerate(array.shape) if keepdims or a != axis)
    job = Job(op, (Spec(array.shape, dtype),), (Spec(out, DType.LONG),), (("axis", axis), ("keepdims", keepdims)))
    assert KERNEL.refuse(job) == ""
    for binding in KERNEL.bindings(job, [[layout]]):
        verify(binding.outputs[0], out, 64)
        source = held("x", array.shape, layout, Location.LM0, 8, dtype)
        target = held("y", out, binding.outputs[0], Location.LM1, 4, DType.LONG)
        placed = Placed((source,), (target,))
        ran = run_kernel(lambda c: KERNEL.emit(c, job, binding, placed), [(source, array)], [target])  # noqa: B023
        expected = NUMPY[op](array, axis=axis, keepdims=bool(keepdims))
        np.testing.assert_array_equal(ran.values["y"], expected)
        return ran.steps
    return -1


def data(dtype: DType, shape: tuple[int, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype in (DType.FLOAT, DType.DOUBLE):
        values = [-np.inf, -1.5, -0.0, 0.0, 1.0, 2.0, 3.0, np.inf][: rng.integers(1, 9)]
        return rng.choice(np.array(values, HOST[dtype]), shape)
    return rng.integers(-3, 4, shape, HOST[dtype])


@st.composite
def cases(draw, dtypes):
    dtype = draw(st.sampled_from(dtypes))
    layout, shape, _ = draw(valid_layouts(bits=dtype.bits, extra=((Level.TIME, 1),)).filter(lambda case: case[1]))
    return dtype, layout, shape, draw(st.integers(0, len(shape) - 1)), draw(st.integers(0, 1))


@settings(max_examples=10)
@given(cases([DType.FLOAT]), st.sampled_from(list(NUMPY)), st.integers(0, 99))
def test_floats(case, op, seed) -> None:
    dtype, layout, shape, axis, keepdims = case
    run(op, data(dtype, shape, seed), layout, axis, keepdims)


@settings(max_examples=6)
@given(cases([DType.INT, DType.LONG, DType.DOUBLE]), st.sampled_from(list(NUMPY)), st.integers(0, 99))
def test_other_types(case, op, seed) -> None:
    dtype, layout, shape, axis, keepdims = case
    run(op, data(dtype, shape, seed), layout, axis, keepdims, dtype)


def test_long_axis() -> None:
    array = data(DType.FLOAT, (90, 6), 1)
    assert run("ArgMax", array, Layout.parse("((90:1), (3:90, 2_W:1))"), 0, 0) > 0


@pytest.mark.parametrize(
    ("shape", "layout", "most"),
    [
        ((64, 10), "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", 70),
        ((64, 10), "((8_L2B:1, 8_L1B:1), (16_MAB:1))", 70),
        ((256, 16), "((4_L2B:2, 8_L1B:1, 4_PE:1, 2_W:1), (16:1))", 90),
    ],
)
def test_steps(shape: tuple[int, ...], layout: str, most: int) -> None:
    assert 0 < run("ArgMax", data(DType.FLOAT, shape, 7), Layout.parse(layout), 1, 0) <= most
