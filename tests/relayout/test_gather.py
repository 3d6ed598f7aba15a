"""The universal relayout on the emulator: random layouts and index maps, all copies and the surroundings checked."""

from __future__ import annotations

from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pfcomp.ir.model import DType, Location
from pfcomp.layout import Layout
from pfcomp.relayout.api import Form
from pfcomp.relayout.gather import gather_plan
from pfcomp.relayout.gather.plan import draft
from pfcomp.relayout.gather.wanted import Origin, Wanted
from pfcomp.relayout.planner import rearrange_plan
from tests.relayout.moves import Case, run_move

LM0, LM1 = Location.LM0, Location.LM1


@st.composite
def layouts(draw: st.DrawFn, shape: tuple[int, ...], bits: int) -> str:
    """A random layout of a shape: digits of all levels, padding, copies where nothing else is."""
    room = {"L2B": 8, "L1B": 8, "MAB": 16, "PE": 4, "W": 64 // bits}
    taken = dict.fromkeys(room, 1)
    address = 1
    axes = []
    for size in shape:
        rest, digits = size, []
        while rest > 1:
            level = draw(st.sampled_from([*room, "Addr"]))
            if level == "Addr":
                digit = draw(st.integers(2, min(rest, 12)))
                stride = address * draw(st.sampled_from([1, 1, 1, 2])) if address < 40 else address
                digits.append(f"{digit}:{stride}")
                address = stride * digit
            else:
                most = min(rest, room[level] // taken[level])
                if most < 2:
                    continue
                digit = draw(st.integers(2, most))
                digits.append(f"{digit}_{level}:{taken[level]}")
                while digit & (digit - 1):
                    digit += 1
                taken[level] *= digit
                digit = int(digits[-1].split("_")[0])
            rest = -(-rest // digit)
        axes.append(f"({', '.join(reversed(digits))})")
    return f"({', '.join(axes)})"


SHAPES = st.sampled_from([(7,), (64,), (100,), (3, 5), (16, 12), (40, 33), (2, 3, 4, 5), (6, 50)])


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A random move."""
    dtype = draw(st.sampled_from([DType.INT, DType.INT, DType.LONG]))
    source, target = draw(SHAPES), draw(SHAPES)
    size, wanted = int(np.prod(source)), int(np.prod(target))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    kind = draw(st.sampled_from(["identity", "permutation", "any", "slice", "holes"]))
    index: NDArray[np.int64] | None
    if kind == "identity":
        target, index = source, None
    elif kind == "permutation":
        target, index = source, rng.permutation(size)
    elif kind == "any":
        index = rng.integers(0, size, wanted)
    else:
        index = (np.arange(wanted) + int(rng.integers(0, size))) % size
    if kind == "holes" and index is not None:
        index = np.where(rng.random(wanted) < 0.4, -1, index)
    layout = [draw(layouts(shape, dtype.bits)) for shape in (source, target)]
    places = draw(st.sampled_from([(LM0, LM0), (LM0, LM1), (LM1, LM0), (LM1, LM1)]))
    return Case(source, layout[0], target, layout[1], index, dtype, places)


@settings(max_examples=25)
@given(cases())
def test_random_moves(case: Case) -> None:
    run_move(gather_plan(*case.forms, case.index), case)


@settings(max_examples=12)
@given(cases(), st.booleans())
def test_small_buffers(case: Case, tagged: bool) -> None:
    """The same with several windows and several chunks of the image, and with either form of table."""
    limits = {
        "passes.FEW_WINDOWS": 0 if tagged else 1 << 20,
        "passes.MOST_TABLE": 0,
        "image.MOST_L1BM": 256,
        "image.MOST_L2BM": 2048,
    }
    with ExitStack() as stack:
        for name, value in limits.items():
            stack.enter_context(patch(f"pfcomp.relayout.gather.{name}", value))
        source, target = case.forms
        origin = Origin.of(source)
        plan = draft(Wanted.of(target, case.index, origin), origin).plan(16)
    run_move(plan, case)


def _transposed(rows: int, columns: int) -> NDArray[np.int64]:
    return np.arange(rows * columns).reshape(rows, columns).T.reshape(-1)


LINE = "(8_L1B:1, 16_MAB:1, 5:1, 4_PE:1, 2_W:1)"
STEPS = {
    "copy": (Case((64, 8), "((64:1), (4_PE:1, 2_W:1))", (64, 8), "((64:1), (4_PE:1, 2_W:1))"), 8),
    "addresses permuted": (
        Case((64, 8), "((64:1), (4_PE:1, 2_W:1))", (64, 8), "((8:1, 8:8), (4_PE:1, 2_W:1))"),
        16,
    ),
    "word and address exchanged": (
        Case((32, 2), "((32:1), (2_W:1))", (32, 2), "((16:1, 2_W:1), (2:16))"),
        16,
    ),
    "a digit of copies becomes spatial": (
        Case((64, 8), "((64:1), (4_PE:1, 2_W:1))", (64, 8), "((16_MAB:1, 4:1), (4_PE:1, 2_W:1))"),
        8,
    ),
    "transposed inside a MAB": (
        Case((64, 8), "((64:1), (4_PE:1, 2_W:1))", (8, 64), "((8:1), (8:8, 4_PE:1, 2_W:1))", _transposed(64, 8)),
        210,
    ),
    "MAB and address exchanged": (
        Case((16, 64), "((16_MAB:1), (64:1))", (16, 64), "((16:1), (16_MAB:1, 4:16))"),
        210,
    ),
    "MABs to all": (
        Case((32, 64), "((8_MAB:1, 4:8), (8:1, 4_PE:1, 2_W:1))", (32, 64), "((32:8), (8:1, 4_PE:1, 2_W:1))"),
        76,
    ),
    "L1Bs to all, PE by PE": (
        Case(
            (64, 128), "((8_L1B:1, 8:1), (16_MAB:1, 4_PE:1, 2_W:1))", (64, 128), "((64:1), (16_MAB:1, 4_PE:1, 2_W:1))"
        ),
        140,
    ),
    "L2Bs to all, PE by PE": (
        Case(
            (64, 128), "((8_L2B:1, 8:1), (16_MAB:1, 4_PE:1, 2_W:1))", (64, 128), "((64:1), (16_MAB:1, 4_PE:1, 2_W:1))"
        ),
        110,
    ),
    "all of 1000 in every PE": (
        Case((1000,), "((8_L2B:1, 16_MAB:1, 4_PE:1, 2_W:1))", (1000,), "((500:1, 2_W:1))"),
        140,
    ),
    "all of 1000 in every MAB": (
        Case((1000,), "((8_L2B:1, 16_MAB:1, 4_PE:1, 2_W:1))", (1000,), "((125:1, 4_PE:1, 2_W:1))"),
        30,
    ),
    "slice of 5000": (Case((5000,), f"({LINE})", (4099,), f"({LINE})", np.arange(37, 37 + 4099)), 320),
}
"""Moves and what they may cost; the numbers were measured and may only fall."""


@pytest.mark.parametrize("name", STEPS)
def test_steps(name: str) -> None:
    case, most = STEPS[name]
    assert run_move(gather_plan(*case.forms, case.index), case) <= most


def test_wide_step_with_unwanted_units() -> None:
    """Both long words of a cycle are left alone where nobody wants them."""
    case = Case(
        (2, 3, 4, 5),
        "((2_MAB:1), (2_MAB:2, 2_L2B:1), (2_MAB:4, 2_L1B:1), (2_L2B:4, 2_L2B:2, 2_MAB:8))",
        (2, 3, 4, 5),
        "((2:1), (2:2, 2_L2B:1), (2:4, 2_L1B:1), (2:8, 2_L2B:4, 2_L2B:2))",
    )
    run_move(gather_plan(*case.forms, case.index), case)


def test_plans_are_kept() -> None:
    """The same question has the same answer, told apart by the contents of the index."""
    case = STEPS["transposed inside a MAB"][0]
    index = _transposed(64, 8)
    kept = rearrange_plan(*case.forms, index.copy())
    assert rearrange_plan(*case.forms, index) is kept
    index[:2] = -1
    assert rearrange_plan(*case.forms, index) is not kept


def test_large_values() -> None:
    """A quarter of a million elements in any order: one table for all windows, no longer than the value."""
    line = Layout.parse("((8_L2B:1, 8_L1B:1, 16_MAB:1, 32:1, 4_PE:1, 2_W:1))")
    form = Form((1 << 18,), 32, line)
    plan = gather_plan(form, form, np.random.default_rng(0).permutation(1 << 18))
    assert [table.contents.shape for table in plan.tables] == [(8, 8, 16, 4, 64)]
