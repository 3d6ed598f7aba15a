"""Signs and write masks of MAU operands; values are compared in `test_operations`."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from tests.emulator.chip import AVAILABLE, GRF0, GRF1, LM0, LM1, elements, fetch, fill, random_words, run


@pytest.mark.parametrize("engine", AVAILABLE)
def test_negated_operands(engine):
    machine = Machine(engine)
    rng = np.random.default_rng(5)
    x, y, z = (random_words(rng, 4, "f", 3) for _ in range(3))
    for place, data in ((LM0, x), (LM1, y), (GRF0, z)):
        fill(machine, place, data)
    run(machine, "fvfma -$lm0v $ln0v -$lr0v $ls0v\nfvpassa $ls0v $lm8v")
    sign = np.uint64(0x8000_0000_8000_0000)
    other = Machine(engine)
    for place, data in ((LM0, x ^ sign), (LM1, y), (GRF0, z ^ sign)):
        fill(other, place, data)
    run(other, "fvfma $lm0v $ln0v $lr0v $lm8v")
    assert (fetch(machine, LM0, 4, 4) == fetch(other, LM0, 4, 4)).all()


@pytest.mark.parametrize("engine", AVAILABLE)
def test_half_sum_with_a_flushed_upper_addend(engine):
    """LW0 of the addend is the same in every cycle, LW1 is not."""
    machine = Machine(engine)
    rng = np.random.default_rng(8)
    fill(machine, LM0, random_words(rng, 4, "h", 3))
    fill(machine, LM1, random_words(rng, 8, "f", 3))
    run(
        machine,
        "lpassa/0000 $lln0v $nowrite\nhvaddr $lm0v $aluf $lr0v\nlpassa/0000 $lln0v $llm64v\nhvaddr $lm0v $llm64v $lr8v",
    )
    got = fetch(machine, GRF0, 8)
    assert (got[:4] == got[4:]).all()
    assert got.any()


# Operation, its factors, and the result of their product alone, which lies half way between that and the next.
TIES = [
    ("fvaddr $lm0v $lr0v $ls0v", 1 + 2**-10, 1, 0x3E00),
    ("fvfmar $lm0v $ln0v $lr0v $ls0v", 1 + 2**-10, 1, 0x3E00),
    ("fvfma $lm0v $ln0v $lr0v $ls0v", 1 + 2**-12, 1 + 2**-12, 0x3F801000),
]
TINY = np.array([0, 2.0**-53 * (2 - 2.0**-23), 2.0**-52 * (2 - 2.0**-23), 2.0**-60, 2.0**-53], np.float32)


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize(("text", "x", "y", "base"), TIES, ids=lambda value: str(value).split()[0])
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_next_to_a_tie(engine, text, x, y, base, sign):
    """However little is added to a tie, the sum is none: also where binary64 loses what is added, or rounds it up."""
    machine = Machine(engine)
    shape, bits = (4, 4096, 2), 16 if base < 1 << 16 else 32
    tiny = TINY[np.arange(4 * 4096 * 2).reshape(shape) % len(TINY)]
    for memory, data in ((LM0, np.full(shape, sign * x)), (LM1, np.full(shape, y)), (GRF0, sign * tiny)):
        fill(machine, memory, data.astype(np.float32).view(np.uint64)[..., 0])
    run(machine, text)
    got = elements(fetch(machine, GRF1, 4), bits)[..., 1::-1]
    want = np.where(tiny != 0, base + 1, base) | ((sign < 0) << (bits - 1))
    assert (got == want).all()
