"""Routes over a form in between and in parts, on the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from pfcomp.ir.model import LM_WORDS, Location
from pfcomp.layout import Level, extent
from pfcomp.relayout.routing.plan import DEALT_PARTS, PARTS, Way, _dealt, _direct, _in_parts
from pfcomp.relayout.routing.staged import StagedPlan
from tests.relayout.moves import Case, run_move
from tests.relayout.test_gather import cases

FEW_TO_FEW = Case(
    (24, 8, 512),
    "((3:8, 8_L1B:1), (8_L2B:1), (8:1, 16_MAB:1, 2_W:1, 2_PE:1))",
    (24, 8, 512),
    "((8_L2B:1, 3:8), (8_L1B:1), (8:1, 16_MAB:1, 2_PE:1, 2_W:1))",
)


def plan_of(way: Way, parts: int, case: Case) -> StagedPlan | None:
    return _in_parts(way, (parts,), *case.forms, case.index, LM_WORDS, 1 << 30)


@settings(max_examples=15)
@given(cases())
def test_random_moves_are_dealt(case: Case) -> None:
    assume(max(extent(form.layout, Level.ADDR) for form in case.forms) < 200)
    plan = plan_of(_dealt, 1, case)
    assume(plan is not None)
    run_move(plan, case)


@pytest.mark.parametrize(("way", "parts"), [*((_direct, n) for n in PARTS), *((_dealt, n) for n in DEALT_PARTS)])
@pytest.mark.parametrize("where", [(Location.LM0, Location.LM1), (Location.LM1, Location.LM0)])
def test_parts_make_the_whole(way: Way, parts: int, where: tuple[Location, Location]) -> None:
    rng = np.random.default_rng(parts)
    whole = rng.permutation(24 * 8 * 512)
    index = np.where(rng.random(len(whole)) < 0.1, -1, whole)
    base = FEW_TO_FEW
    case = Case(base.source, base.source_layout, base.target, base.target_layout, index, places=where)
    plan = plan_of(way, parts, case)
    assert plan is not None
    assert len(plan.legs) == parts * (2 if way is _dealt else 1)
    run_move(plan, case)
