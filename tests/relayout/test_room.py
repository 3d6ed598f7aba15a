"""Gathers in little local memory: plans that fit where one with large windows does not, all right on the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.ir.model import LM_WORDS
from pfcomp.layout import Level, extent
from pfcomp.relayout.gather import gather_plan
from pfcomp.relayout.kept import Kept
from pfcomp.relayout.planner import relay_plan
from pfcomp.relayout.room import beside, fits
from tests.relayout.moves import Case, run_move
from tests.relayout.test_gather import cases

SPREAD = "(8_L2B:1, 8_L1B:1, 8_MAB:2)"
TRANSPOSED = np.arange(8192).reshape(512, 16).T.reshape(-1)
SMALL = {
    "(512, 16) transposed": Case(
        (512, 16),
        f"({SPREAD}, (2_MAB:1, 4_PE:1, 2_W:1))",
        (16, 512),
        "((8_L2B:1, 2_L1B:4), (4_L1B:1, 16_MAB:1, 2_W:1, 4_PE:1))",
        TRANSPOSED,
    ),
    "256 elements": Case((256,), "((8_L2B:1, 4:1, 2_W:1, 4_PE:1))", (256,), "((8_L1B:1, 4:1, 2_W:1, 4_PE:1))"),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("room", [614, 204, 100])
def test_small_values_need_little(name: str, room: int) -> None:
    """No piece takes more than two thirds of a memory, for at most half as many steps again."""
    case = SMALL[name]
    plan = gather_plan(*case.forms, case.index, room)
    assert max(words for words, _ in beside(plan)) <= 2 * room // 3
    assert plan.steps <= 1.5 * gather_plan(*case.forms, case.index).steps
    run_move(plan, case)


@settings(max_examples=20)
@given(cases(), st.sampled_from([1.1, 1.5, 3.0]))
def test_what_can_fit_fits(case: Case, plenty: float) -> None:
    """However little the room is, a plan is right, and it fits if twice the operands and a window are there."""
    words = [extent(form.layout, Level.ADDR) for form in case.forms]
    room = int(plenty * sum(words)) + 4
    plan = gather_plan(*case.forms, case.index, room)
    assert fits(plan, *case.forms, room) or plenty < 3 or sum(words) < 64
    run_move(plan, case)


def test_little_room_decides_between_engines() -> None:
    """An exchange that needs more scratch than there is gives way to a gather that needs none of it."""
    case = Case((64, 64), "((8_L1B:1, 8:1), (16_MAB:1, 4:8))", (64, 64), "((16_MAB:1, 4:1), (8_L1B:1, 8:4))")
    for room in (LM_WORDS, 100):
        plan = relay_plan(*case.forms, room)
        assert fits(plan, *case.forms, room)
        run_move(plan, case)


def test_entries_leave_when_memory_is_full() -> None:
    kept: Kept[bytes] = Kept(10, len)
    made: list[str] = []

    def value(key: str, size: int) -> bytes:
        def make() -> bytes:
            made.append(key)
            return bytes(size)

        return kept.get(key, make)

    for key, size in (("a", 4), ("b", 4), ("a", 4), ("c", 4), ("a", 4), ("b", 4), ("d", 20), ("d", 20)):
        assert len(value(key, size)) == size
    assert made == ["a", "b", "c", "b", "d"]
    assert kept.total == 20
