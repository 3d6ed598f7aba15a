"""Matrix products on the emulator, against binary64: every way to spread them, all modes, junk in all padding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from pfcomp.ir.model import DType, Location
from pfcomp.kernels.api import Binding, Job, Placed, Spec
from pfcomp.kernels.contraction import Contraction
from pfcomp.kernels.contraction.kernel import binding_of
from pfcomp.kernels.contraction.problem import problems_of
from pfcomp.kernels.contraction.search import MOST, Way, ways
from pfcomp.layout import Layout, same, verify
from tests.kernels.harness import HOST, Ran, held, run_kernel

Shape = tuple[int, ...]
Array = NDArray[np.generic]

KERNEL = Contraction()
LM = (Location.LM0, Location.LM1)

TOLERANCE = {"f": 2.0**-22, "g": 2.0**-17, "h": 2.0**-9, "h8": 2.0**-9, "d": 2.0**-50, "outer": 2.0**-22}
"""Largest error divided by `scale_of` the operands."""


def job_of(a: Shape, b: Shape, float_dtype: str = "float", dtype: DType = DType.FLOAT) -> Job:
    batch = np.broadcast_shapes(a[:-2], b[:-2])
    result = (*batch, a[-2], b[-1])
    return Job("MatMul", (Spec(a, dtype), Spec(b, dtype)), (Spec(result, dtype),), float_dtype=float_dtype)


def run(job: Job, binding: Binding, a: Array, b: Array, places: tuple[int, int, int] = (0, 1, 0)) -> Ran:
    """Operands and result at the next free addresses of LM0 or LM1."""
    free = [0, 0]
    values = []
    layouts = (*binding.inputs, *binding.outputs)
    for name, spec, layout, place in zip("abc", (*job.inputs, *job.outputs), layouts, places, strict=True):
        verify(layout, spec.shape, spec.dtype.bits)
        values.append(held(name, spec.shape, layout, LM[place], free[place], spec.dtype))
        free[place] += values[-1].size
    placed = Placed(tuple(values[:2]), (values[2],))
    emitted = Binding(binding.inputs, binding.outputs, 0, binding.variant)
    inputs = [(values[0], a), (values[1], b)]
    return run_kernel(lambda c: KERNEL.emit(c, job, emitted, placed), inputs, [values[2]])


def normal(rng: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    return rng.standard_normal(shape)


def positive(rng: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    return rng.uniform(0.0, 1.0, shape)


def large(rng: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    return rng.standard_normal(shape) * 1e6


def small(rng: np.random.Generator, shape: Shape) -> NDArray[np.float64]:
    return rng.standard_normal(shape) * 1e-6


def scale_of(a: Array, b: Array) -> NDArray[np.float64]:
    """Sum over k of max|a|·|b| + |a|·max|b|: elements of a block share the exponent of the largest."""
    x, y = np.abs(a).astype(np.float64), np.abs(b).astype(np.float64)
    return x.max(axis=-1, keepdims=True) * y.sum(axis=-2, keepdims=True) + x.sum(axis=-1, keepdims=True) * y.max(
        axis=-2, keepdims=True
    )


Make = Callable[[np.random.Generator, Shape], NDArray[np.float64]]


def check(job: Job, binding: Binding, make: Make = normal, places: tuple[int, int, int] = (0, 1, 0)) -> Ran:
    rng = np.random.default_rng(1)
    a, b = (make(rng, spec.shape).astype(HOST[spec.dtype]) for spec in job.inputs)
    ran = run(job, binding, a, b, places)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    error = np.abs(ran.values["c"] - exact) / scale_of(a, b)
    assert error.max() <= TOLERANCE[binding.variant.split()[0]]
    return ran


SHAPES = [
    ((1, 1), (1, 1)),
    ((3, 5), (5, 7)),
    ((64, 10), (10, 256)),
    ((64, 256), (256, 10)),
    ((17, 33), (33, 65)),
    ((2, 3, 4, 20), (2, 3, 20, 9)),
    ((5, 4, 40), (40, 12)),
    ((4, 40), (3, 40, 12)),
    ((2, 1, 9, 33), (3, 33, 18)),
]
ACCURACIES = [
    ("float", DType.FLOAT),
    ("pseudo", DType.FLOAT),
    ("mixed", DType.FLOAT),
    ("mixed", DType.DOUBLE),
]


@pytest.mark.parametrize(("float_dtype", "dtype"), ACCURACIES)
@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_best_way(a: Shape, b: Shape, float_dtype: str, dtype: DType) -> None:
    job = job_of(a, b, float_dtype, dtype)
    assert KERNEL.refuse(job) == ""
    check(job, next(iter(KERNEL.bindings(job, ()))))


KINDS = {
    "depth in place": lambda split: split.mab[3] == 1 == split.l1b[3],
    "depth over L1Bs": lambda split: split.mab[3] == 1 and split.l1b[3] == 8,
    "depth over some L1Bs": lambda split: split.mab[3] == 1 < split.l1b[3] < 8,
    "depth over MABs": lambda split: split.mab[3] == 16 and split.l1b[3] == 1 and not split.scatter,
    "depth over both": lambda split: split.mab[3] == 16 and split.l1b[3] == 8 and not split.scatter,
    "depth over MABs and some L1Bs": lambda split: split.mab[3] == 16 and split.l1b[3] == 2 and not split.scatter,
    "scattered over MABs": lambda split: split.l1b[3] == 1 and split.scatter == ("MAB",),
    "sums over L1Bs, scattered over MABs": lambda split: split.l1b[3] == 4 and split.scatter == ("MAB",),
    "scattered over L1Bs": lambda split: split.scatter == ("L1B",),
    "scattered over both": lambda split: split.scatter == ("L1B", "MAB"),
    "depth over L2Bs": lambda split: split.l2b[3] == 8 and split.mab[3] == split.l1b[3] == 1,
    "depth over L2Bs and L1Bs": lambda split: split.l2b[3] == split.l1b[3] == 8 and split.mab[3] == 1,
    "depth over L2Bs, scattered over MABs": lambda split: split.l2b[3] == 8 and split.scatter == ("MAB",),
}


WITHOUT_MABS = ("depth in place", "depth over L1Bs", "depth over some L1Bs", "depth over L2Bs")


def way_of(job: Job, kind: str, row_axis: int) -> Way:
    """The cheapest way of a kind."""
    found = [way for problem in problems_of(job) if problem.row_axis == row_axis for way in ways(problem)]
    fitting = [way for way in found if KINDS[kind](way.plan.split)]
    return min(fitting, key=lambda way: way.estimate.total)


@pytest.mark.parametrize("float_dtype", ["float", "mixed"])
@pytest.mark.parametrize("row_axis", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_kinds(kind: str, row_axis: int, float_dtype: str) -> None:
    depth = 150 if kind in WITHOUT_MABS else 2100 if kind.startswith("depth over L2Bs") else 1100
    job = job_of((42, depth), (depth, 37), float_dtype)
    check(job, binding_of(way_of(job, kind, row_axis)), places=(row_axis, 1, 0))


@pytest.mark.parametrize("make", [positive, large, small])
@pytest.mark.parametrize(("float_dtype", "dtype"), ACCURACIES)
def test_magnitudes(float_dtype: str, dtype: DType, make: Make) -> None:
    job = job_of((20, 300), (300, 24), float_dtype, dtype)
    check(job, binding_of(way_of(job, "scattered over MABs", 1)), make)


def test_pseudo_single_in_the_layouts_of_single() -> None:
    job = job_of((20, 300), (300, 24))
    binding = binding_of(way_of(job, "scattered over MABs", 1))
    check(job, replace(binding, variant="g B"))


@pytest.mark.parametrize("places", [(0, 0, 0), (1, 1, 1), (1, 1, 0), (0, 1, 1)])
def test_any_memory(places: tuple[int, int, int]) -> None:
    job = job_of((12, 100), (100, 24))
    check(job, binding_of(way_of(job, "depth in place", 0)), places=places)


@pytest.mark.parametrize(("float_dtype", "dtype"), ACCURACIES)
@pytest.mark.parametrize("kind", ["depth in place", "depth over both", "scattered over both"])
def test_small_integers_are_exact(kind: str, float_dtype: str, dtype: DType) -> None:
    depth = 100 if kind == "depth in place" else 1100
    job = job_of((24, depth), (depth, 40), float_dtype, dtype)
    binding = binding_of(way_of(job, kind, 1))
    rng = np.random.default_rng(2)
    a, b = (rng.integers(-15, 16, spec.shape).astype(HOST[dtype]) for spec in job.inputs)
    np.testing.assert_array_equal(run(job, binding, a, b).values["c"], a @ b)


@pytest.mark.parametrize(
    ("a", "b", "float_dtype", "most"),
    [
        ((64, 1024), (1024, 256), "float", 200),
        ((64, 1024), (1024, 256), "mixed", 70),
        ((64, 256), (256, 10), "float", 25),
    ],
)
def test_steps(a: Shape, b: Shape, float_dtype: str, most: int) -> None:
    job = job_of(a, b, float_dtype)
    assert check(job, next(iter(KERNEL.bindings(job, ())))).steps <= most


def test_bindings_differ() -> None:
    found = list(KERNEL.bindings(job_of((64, 1024), (1024, 256)), ()))
    assert len({(b.inputs, b.outputs, b.variant) for b in found}) == len(found) == MOST


@pytest.mark.parametrize(
    ("a", "b", "dtypes", "reason"),
    [
        ((4,), (4, 3), (DType.FLOAT, DType.FLOAT), "one-dimensional"),
        ((3, 4), (5, 3), (DType.FLOAT, DType.FLOAT), "product of"),
        ((3, 4), (4, 3), (DType.FLOAT, DType.DOUBLE), "product of"),
        ((3, 4), (4, 3), (DType.INT, DType.INT), "product of"),
        ((3, 0), (0, 3), (DType.FLOAT, DType.FLOAT), "empty"),
    ],
)
def test_refused(a: Shape, b: Shape, dtypes: tuple[DType, DType], reason: str) -> None:
    specs = (Spec(a, dtypes[0]), Spec(b, dtypes[1]))
    result = Spec((*a[:-1], b[-1]), dtypes[0])
    assert reason in KERNEL.refuse(Job("MatMul", specs, (result,)))


OFFERS = [
    (0, "((16:1), (8_MAB:2, 2_MAB:1, 3:16, 4_PE:1, 2_W:1))", (16, 320), (320, 24)),
    (0, "((4_L2B:2, 5:3), (3:1, 2_W:1, 4_PE:1))", (19, 23), (23, 40)),
    (1, "((8_L1B:1, 4_PE:1, 2:1, 2_W:1), (2_L2B:4, 16_MAB:1, 8:2))", (6, 100), (100, 250)),
    (1, "((2:7), (4_PE:1, 2_W:1), (7:1))", (2, 9, 8), (2, 8, 7)),
]


@pytest.mark.parametrize("float_dtype", ["float", "mixed"])
@pytest.mark.parametrize(("operand", "text", "a", "b"), OFFERS)
def test_takes_an_operand_as_it_is(operand: int, text: str, a: Shape, b: Shape, float_dtype: str) -> None:
    job = job_of(a, b, float_dtype)
    layout = Layout.parse(text)
    offered: list[list[Layout]] = [[], []]
    offered[operand].append(layout)
    binding = next(iter(KERNEL.bindings(job, offered)))
    assert same(binding.inputs[operand], layout)
    check(job, binding)


@pytest.mark.parametrize(
    ("a", "b", "first", "second"),
    [
        ((32, 16), (16, 24), "((8_L1B:1, 4:2), (2:1, 4_PE:1, 2_W:1))", "((2:24, 4_PE:1, 2_W:1), (24:1))"),
        (  # only the second operand has the batch axis
            *((4, 9), (2, 9, 22), "((4:1), (2:4, 4_PE:1, 2_W:1))"),
            "((2_L1B:4, 1:2), (2:1, 4_PE:1, 2_W:1), (8_L2B:1, 4_L1B:1, 1:1))",
        ),
    ],
)
def test_takes_both_operands_as_they_are(a: Shape, b: Shape, first: str, second: str) -> None:
    job = job_of(a, b)
    offered = ([Layout.parse(first)], [Layout.parse(second)])
    kept = [
        binding
        for binding in KERNEL.bindings(job, offered)
        if all(same(layout, offer[0]) for layout, offer in zip(binding.inputs, offered, strict=True))
    ]
    assert kept
    check(job, kept[0])


@pytest.mark.parametrize(
    "text",
    [
        "((4_PE:1, 4:1), (16:4, 2_W:1))",  # rows in the PEs
        "((16:1), (2_L2B:1, 16:16, 4_PE:1))",  # words hold copies
        "((16:1), (7_MAB:1, 5:16, 4_PE:1, 2_W:1))",  # no power of two
        "((16:1), (2_L2B:1, 16:16, 4_PE:1, 2_W:1))",  # the reduced axis over L2Bs
        "((4_MAB:1, 4:1), (4_MAB:4, 8:4, 4_PE:1, 2_W:1))",  # the reduced axis over some MABs
    ],
)
def test_useless_offers(text: str) -> None:
    job = job_of((16, 256), (256, 24))
    layout = Layout.parse(text)
    assert not any(same(binding.inputs[0], layout) for binding in KERNEL.bindings(job, [[layout], []]))


WANTED = [
    ("((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))", (16, 256), (256, 1024)),
    ("((8_L1B:1, 2:1, 4_PE:1, 2_W:1), (16_MAB:1, 2:2))", (128, 40), (40, 32)),
    ("((16:2), (2:1, 4_PE:1, 2_W:1))", (16, 256), (256, 16)),
    ("((4_L2B:2, 2_L1B:4, 8:1), (2_L1B:1, 3:8, 4_PE:1, 2_W:1))", (60, 50), (50, 44)),
]


@pytest.mark.parametrize("float_dtype", ["float", "pseudo"])
@pytest.mark.parametrize(("text", "a", "b"), WANTED)
def test_leaves_the_result_where_it_is_wanted(text: str, a: Shape, b: Shape, float_dtype: str) -> None:
    layout = Layout.parse(text)
    job = replace(job_of(a, b, float_dtype), wanted=(layout,))
    aimed = [binding for binding in KERNEL.bindings(job, ()) if same(binding.outputs[0], layout)]
    assert aimed
    for binding in aimed:
        check(job, binding)


@pytest.mark.parametrize(
    ("text", "a", "b"),
    [
        ("((16:1), (24:16))", (16, 40), (40, 24)),  # PEs hold copies
        ("((4_PE:1, 2_W:1, 2:1), (24:2))", (16, 40), (40, 24)),  # the rows of a tile are no neighbours
        ("((16:1), (3_MAB:1, 4_PE:1, 2_W:1))", (16, 40), (40, 24)),  # no power of two
        ("((2:1), (16:2), (3:32, 4_PE:1, 2_W:1))", (2, 16, 40), (2, 40, 24)),  # a batch
    ],
)
def test_useless_wishes(text: str, a: Shape, b: Shape) -> None:
    job = job_of(a, b)
    wished = replace(job, wanted=(Layout.parse(text),))
    assert list(KERNEL.bindings(wished, ())) == list(KERNEL.bindings(job, ()))


KEPT = [
    (1, "((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", (16, 256), (256, 16)),
    (0, "((2:1, 4_PE:1, 2_W:1), (8_L2B:1, 4:2, 8_L1B:1))", (16, 256), (256, 40)),
    (1, "((2_L1B:4, 3:3), (2_L2B:4, 4_L1B:1, 3:1, 2_W:1, 4_PE:1))", (5, 6), (6, 48)),
    (0, "((8_L2B:1, 2:3, 4_PE:1, 2_W:1), (3:1))", (100, 3), (3, 2)),
    (1, "((8_L2B:1, 2:5), (8_L1B:1, 5:1, 4_PE:1, 2_W:1))", (33, 16), (16, 300)),
]


@pytest.mark.parametrize("float_dtype", ["float", "mixed"])
@pytest.mark.parametrize(("operand", "text", "a", "b"), KEPT)
def test_outer_products(operand: int, text: str, a: Shape, b: Shape, float_dtype: str) -> None:
    job = job_of(a, b, float_dtype)
    offered: list[list[Layout]] = [[], []]
    offered[operand].append(Layout.parse(text))
    found = [binding for binding in KERNEL.bindings(job, offered) if binding.variant.startswith("outer")]
    assert len(found) == 1
    assert same(found[0].inputs[operand], Layout.parse(text))
    check(job, found[0])


def test_outer_products_at_addresses_that_are_wanted() -> None:
    wanted = Layout.parse("((16:2), (2:1, 4_PE:1, 2_W:1))")
    job = replace(job_of((16, 256), (256, 16)), wanted=(wanted,))
    offered = ([], [Layout.parse("((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))")])
    (found,) = (binding for binding in KERNEL.bindings(job, offered) if binding.variant == "outer B")
    assert same(found.outputs[0], wanted)
    check(job, found)


@pytest.mark.parametrize(
    "text",
    [
        "((8_L2B:1, 4:2, 8_L1B:1), (4_MAB:1, 4_PE:1, 2_W:1))",  # MABs do not hold copies
        "((8_L2B:1, 8:2, 4_MAB:1), (2:1, 4_PE:1, 2_W:1))",
        "((4_L2B:1, 8:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))",  # the reduced axis over some L2Bs
        "((8_L2B:1, 4:2, 8_L1B:1), (4:1, 4_PE:1))",  # words hold copies
    ],
)
def test_useless_for_outer_products(text: str) -> None:
    job = job_of((16, 256), (256, 16))
    found = KERNEL.bindings(job, ([], [Layout.parse(text)]))
    assert not any(binding.variant.startswith("outer") for binding in found)


TURNED = [
    (0, "((4_MAB:4, 3:16, 4_PE:1, 2_W:1), (8_L2B:1, 16:1))", (96, 128), (128, 40)),
    (1, "((40:1), (8_L1B:1, 2:40, 4_PE:1, 2_W:1))", (24, 40), (40, 128)),
    (1, "((8_L1B:1, 16:3), (3:1, 4_PE:1, 2_W:1))", (70, 128), (128, 24)),
    (0, "((2:1, 4_PE:1, 2_W:1), (16:2, 16_MAB:1))", (16, 256), (256, 20)),
]


@pytest.mark.parametrize("float_dtype", ["float", "pseudo"])
@pytest.mark.parametrize(("operand", "text", "a", "b"), TURNED)
def test_turns_an_operand_while_it_is_read(operand: int, text: str, a: Shape, b: Shape, float_dtype: str) -> None:
    job, layout = job_of(a, b, float_dtype), Layout.parse(text)
    offered: list[list[Layout]] = [[], []]
    offered[operand].append(layout)
    found = [binding for binding in KERNEL.bindings(job, offered) if len(binding.variant.split()) == 3]
    assert {binding.variant.split()[1] for binding in found} == {"A", "B"}
    for binding in found:
        assert same(binding.inputs[operand], layout)
        check(job, binding)


def test_turns_both_operands_while_they_are_read() -> None:
    job = job_of((16, 64), (64, 24), "pseudo")
    offered = (
        [Layout.parse("((2:1, 4_PE:1, 2_W:1), (8_L1B:1, 8:2))")],
        [Layout.parse("((8_L1B:1, 8:3), (3:1, 4_PE:1, 2_W:1))")],
    )
    found = [binding for binding in KERNEL.bindings(job, offered) if binding.variant.endswith(("AB", "BA"))]
    assert found
    for binding in found:
        check(job, binding)


def test_doubles_are_turned_as_well() -> None:
    job = job_of((12, 32), (32, 8), "double", DType.DOUBLE)
    layout = Layout.parse("((3:1, 4_PE:1), (8_L1B:1, 4:3))")
    found = [binding for binding in KERNEL.bindings(job, ([layout], ())) if binding.variant.endswith(" A")]
    turned = [binding for binding in found if len(binding.variant.split()) == 3]
    assert turned
    for binding in turned:
        check(job, binding)
