"""The harness itself: what it puts into local memory it reads back, through a copy made by the chip."""

import numpy as np
import pytest

from pfcomp.ir.model import DType, Location
from pfcomp.kernels import operands
from tests.kernels.harness import held, run_kernel


@pytest.mark.parametrize("dtype", [DType.FLOAT, DType.LONG])
def test_copy(dtype: DType) -> None:
    layout = "((8_L1B:1, 3:1), (16_MAB:1, 4_PE:1)" + ("; B@[W])" if dtype is DType.FLOAT else ")")
    source = held("x", (20, 60), layout, Location.LM0, 8, dtype)
    target = held("y", (20, 60), layout, Location.LM1, 12, dtype)
    array = np.arange(1200).reshape(20, 60)
    move = (operands.run(Location.LM0, 8), operands.run(Location.LM1, 12))
    ran = run_kernel(lambda c: c.builder.op("lpassa", move[0], to=move[1]) and None, [(source, array)], [target])
    np.testing.assert_array_equal(ran.values["y"], array)
    assert ran.steps == 1


def test_differing_copies_are_found() -> None:
    source = held("x", (4,), "((4_PE:1); B@[W])", Location.LM0, 0)
    broken = held("x", (4,), "((4:1))", Location.LM0, 0)
    with pytest.raises(AssertionError, match="copies differ"):
        run_kernel(lambda c: c.builder.op("lpassa", "$lm0v", to="$ln0v") and None, [(source, np.ones(4))], [broken])
