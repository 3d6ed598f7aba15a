"""First-fit placement, and the independent check that finds every overlap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfcomp.errors import InternalError
from pfcomp.ir.model import Location
from pfcomp.plan.address import Lifetime, Placement, place, verify

BOTH = (Location.LM0, Location.LM1)


@st.composite
def lifetimes(draw: st.DrawFn) -> list[Lifetime]:
    count = draw(st.integers(1, 12))
    births = [draw(st.integers(0, 20)) for _ in range(count)]
    return [
        Lifetime(f"v{i}", 4 * draw(st.integers(1, 60)), b, b + draw(st.integers(0, 9))) for i, b in enumerate(births)
    ]


@given(lifetimes())
def test_placements_pass_the_check(lives: list[Lifetime]) -> None:
    placements = place(lives, {v.name: BOTH for v in lives}, budget=512)
    if placements is not None:
        verify(lives, placements, budget=512)


def test_what_does_not_fit_is_said() -> None:
    lives = [Lifetime(f"v{i}", 100, 0, 1) for i in range(3)]
    assert place(lives, {v.name: BOTH for v in lives}, budget=128) is None


def test_a_freed_place_is_used_again() -> None:
    lives = [Lifetime("a", 100, 0, 1), Lifetime("b", 100, 2, 3)]
    placements = place(lives, {"a": (Location.LM0,), "b": (Location.LM0,)}, budget=100)
    assert placements == {"a": Placement(Location.LM0, 0), "b": Placement(Location.LM0, 0)}


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (Placement(Location.LM0, 4), "b and a share LM0"),
        (Placement(Location.LM1, 60), "does not lie inside"),
    ],
)
def test_the_check_finds_mistakes(other: Placement, message: str) -> None:
    lives = [Lifetime("a", 8, 0, 2), Lifetime("b", 8, 1, 3)]
    with pytest.raises(InternalError, match="PF0405") as caught:
        verify(lives, {"a": Placement(Location.LM0, 0), "b": other}, budget=64)
    assert message in str(caught.value).replace("[", " ").replace("]", " ")
