"""Scratch of moves that take turns."""

from __future__ import annotations

import numpy as np
import pytest

from pfcomp.ir.model import Location
from pfcomp.kernels.api import Scratch
from pfcomp.relayout.sharing import share_of, shared_scratch

PLACES = (None, Location.LM0, Location.LM1)


def test_each_memory_has_the_most_and_largest_pieces_of_any_move() -> None:
    moves = [Scratch(8, Location.LM1), Scratch(20, Location.LM0)], [Scratch(12, Location.LM0), Scratch(4, Location.LM0)]
    assert shared_scratch(moves) == (Scratch(8, Location.LM1), Scratch(20, Location.LM0), Scratch(4, Location.LM0))


@pytest.mark.parametrize("seed", range(20))
def test_every_move_gets_places_of_its_own_that_are_large_enough(seed: int) -> None:
    choices = np.random.default_rng(seed)
    moves = [
        [Scratch(int(choices.integers(1, 99)), PLACES[choices.integers(3)]) for _ in range(choices.integers(5))]
        for _ in range(choices.integers(1, 5))
    ]
    shared = shared_scratch(moves)
    for move in moves:
        taken = share_of(move, shared, range(len(shared)))
        assert len(set(taken)) == len(move)
        for one, place in zip(move, taken, strict=True):
            assert (shared[place].location, shared[place].words >= one.words) == (one.location, True)
    for location in PLACES:
        total = max(sum(one.words for one in move if one.location is location) for move in moves)
        assert sum(one.words for one in shared if one.location is location) >= total
