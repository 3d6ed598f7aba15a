"""The universal relayout on the emulator: random layouts and index maps, all copies and the surroundings checked."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pfcomp.ir.model import DType, Location
from pfcomp.relayout.gather import gather_plan
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


@settings(max_examples=40, deadline=None)
@given(cases())
def test_random_moves(case: Case) -> None:
    plan = gather_plan(*case.forms, case.index)
    run_move(plan, case)
