"""Two memories hold what can be divided between them; a program runs if each of its tasks can be packed alone."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfcomp.errors import UnsupportedError
from pfcomp.ir.packing import LMS, Wanted, pack
from pfcomp.plan.linear import Item, Linear
from pfcomp.plan.memory import allocate
from pfcomp.plan.replay import verify_places
from tests.plan.test_memory import random_program

PLACES = st.lists(st.tuples(st.integers(1, 12), st.sampled_from((None, *LMS))), max_size=7)


def divisible(wanted: list[Wanted], budget: int) -> bool:
    """By trying everything."""
    choices = [LMS if one.location is None else (one.location,) for one in wanted]
    return any(
        all(sum(one.words for one, lm in zip(wanted, way, strict=True) if lm is memory) <= budget for memory in LMS)
        for way in product(*choices)
    )


@given(PLACES, st.integers(1, 40))
def test_a_way_is_found_if_there_is_one(places: list[tuple[int, object]], budget: int) -> None:
    wanted = [Wanted(str(k), words, location) for k, (words, location) in enumerate(places)]  # type: ignore[arg-type]
    spots = pack(wanted, budget)
    assert (spots is not None) == divisible(wanted, budget)
    for memory in LMS if spots else ():
        here = sorted((s.address, s.address + s.words) for s in (spots or {}).values() if s.location is memory)
        assert all(end <= begin for (_, end), (begin, _) in pairwise(here))
        assert not here or here[-1][1] <= budget
    for one in wanted if spots else ():
        assert one.location in (None, (spots or {})[one.name].location)


def packs(linear: Linear, item: Item, budget: int) -> bool:
    names = (*item.node.inputs, *item.node.outputs, *item.scratch, *item.tables)
    places = dict.fromkeys(linear.home[name][0] for name in names if name in linear.home)
    wanted = [linear.places[name] for name in places]
    return pack([Wanted(place.name, place.words, place.location) for place in wanted], budget) is not None


@pytest.mark.parametrize("seed", range(40))
def test_a_program_runs_in_the_least_memory_that_holds_each_task_alone(seed: int) -> None:
    linear = random_program(seed, 256)
    least = next(b for b in range(4, 513, 4) if all(packs(linear, item, b) for item in linear.items))
    verify_places(linear, allocate(random_program(seed, 256), least), least)


def test_a_task_that_cannot_be_packed_is_refused() -> None:
    linear = random_program(3, 256)
    largest = max(place.words for place in linear.places.values())
    with pytest.raises(UnsupportedError, match="PF0422"):
        allocate(linear, largest - 4)
