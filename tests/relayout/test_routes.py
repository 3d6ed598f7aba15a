"""Routes through blocks that L1Bs exchange: random rearrangements and large relayouts on the emulator."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

from pfcomp.ir.model import Location
from pfcomp.layout import Level, extent
from pfcomp.relayout.chain import ChainPlan
from pfcomp.relayout.gather import gather_plan
from pfcomp.relayout.planner import rearrange_plan, relay_plan
from pfcomp.relayout.routing.plan import routed_plan
from tests.relayout.moves import Case, run_move
from tests.relayout.test_gather import cases

LM0, LM1 = Location.LM0, Location.LM1


@settings(max_examples=25)
@given(cases())
def test_random_routes(case: Case) -> None:
    assume(max(extent(form.layout, Level.ADDR) for form in case.forms) < 300)
    plan = routed_plan(*case.forms, case.index)
    assume(plan is not None)
    run_move(plan, case)


DENSE = "((4_PE:1, 8_L2B:1), (13:1, 2_L1B:2, 2_L1B:4), (2_L1B:1, 2_W:1, 4_MAB:2, 2_MAB:1, 2_MAB:8))"
LARGE = {
    "other digits": ("((2_W:1, 2:1, 2_L1B:4, 4_L1B:1), (2_MAB:8, 25:2), (8_L2B:1, 8_MAB:1))", 1150),
    "copies": ("((8_L2B:1, 4_MAB:4, 1:100), (4_MAB:1, 13:8), (8:1, 2_W:1, 4_PE:1); B@[L1B])", 3100),
    "fewer L2Bs": (
        "((4_L1B:1, 2:4, 4:1), (2_L2B:2, 2_MAB:8, 4_MAB:2, 2_MAB:1, 2_PE:2), (16:8, 2_L1B:4, 2_W:1))",
        1450,
    ),
}
"""Layouts of (32, 50, 64), and the most steps, without the waits for MVs, that getting there from DENSE may take."""


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("where", [(LM0, LM1), (LM1, LM0)])
def test_large_relayouts(name: str, where: tuple[Location, Location]) -> None:
    layout, most = LARGE[name]
    case = Case((32, 50, 64), DENSE, (32, 50, 64), layout, places=where)
    plan = relay_plan(*case.forms)
    assert 4 * plan.steps < gather_plan(*case.forms, None).steps
    assert run_move(plan, case) <= most


def test_places_are_kept() -> None:
    """Two moves that share a target, one after the other, both over routes."""
    shape, layout = (64, 2048), "((8_L2B:1, 8_L1B:1), (16_MAB:1, 16:1, 4_PE:1, 2_W:1))"
    everything = np.arange(1 << 17).reshape(shape)
    index = np.where(everything % 3 == 0, -1, everything.reshape(2048, 64).T.reshape(shape)).reshape(-1)
    case = Case(shape, layout, shape, layout, index)
    plan = rearrange_plan(*case.forms, index)
    assert isinstance(plan, ChainPlan)
    run_move(plan, case)
