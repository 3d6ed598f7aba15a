"""Moves between the PEs of a MAB; the other ALU operations are in `test_operations`."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from tests.emulator.chip import AVAILABLE, GRF0, LM0, fetch, fill, random_words, run


@pytest.mark.parametrize("engine", AVAILABLE)
def test_shifts_between_pes(engine):
    machine = Machine(engine)
    x = random_words(np.random.default_rng(2), 4, "l")
    fill(machine, LM0, x)
    run(machine, "msl $lm0v $lr0v\nmsr $lm0v $lr8v")
    mabs = x.reshape(4, 1024, 4)
    expected = np.concatenate([np.roll(mabs, 1, axis=2), np.roll(mabs, -1, axis=2)]).reshape(8, 4096)
    assert (fetch(machine, GRF0, 8) == expected).all()
