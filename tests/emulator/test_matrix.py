"""Matrix registers: writing, reading, wrapping, halves of doubles; values are compared in `test_operations`."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.formats import BY_LETTER
from tests.emulator.chip import AVAILABLE, GRF0, GRF1, LM0, LM1, fetch, fill, run
from tests.emulator.operations_blocks import SIZE, by_mab, data
from tests.emulator.test_mau_operations import TINY


def write_matrix(machine, letter, first_row):
    """Load all rows of register x from LM0 (rows in order), `first_row` in long words."""
    steps = SIZE[letter] // 4
    run(machine, "\n".join(f"{letter}mwrite $lm{2 * first_row + 8 * s}v $lx{4 * s}" for s in range(steps)))


@pytest.mark.parametrize("engine", AVAILABLE)
def test_block_float_of_both_long_words(engine):
    machine = Machine(engine)
    x = data(np.random.default_rng(3), 8, "h", 9)
    fill(machine, LM0, x)
    run(machine, "hbfn/9 $llm0v $llr0v\nhbfn/9 $lm0v4 $ls0v\nhbfn/9 $lm2v4 $ls8v")
    pairs, single = fetch(machine, GRF0, 8), fetch(machine, GRF1, 8)
    assert (pairs[0::2] == single[:4]).all()
    assert (pairs[1::2] == single[4:]).all()


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("letter", ["d", "f", "g", "h"])
def test_read_is_the_transpose(letter, engine):
    machine = Machine(engine)
    size, bits = SIZE[letter], BY_LETTER[letter].bits
    x = np.random.default_rng(1).integers(0, 1 << 64, (size, 4096), dtype=np.uint64)
    fill(machine, LM0, x)
    write_matrix(machine, letter, 0)
    if letter == "h":
        run(machine, "hmread $llx0 $lln0v\nhmread $llx8 $lln16v")
    else:
        run(machine, "\n".join(f"{letter}mread $lx{r} $ln{2 * r}v" for r in range(0, size, 4)))
    got = by_mab(fetch(machine, LM1, size), bits)
    assert (got == by_mab(x, bits).transpose(2, 1, 0)).all()


@pytest.mark.parametrize("engine", AVAILABLE)
def test_rows_wrap_and_two_long_rows_alternate(engine):
    machine = Machine(engine)
    x = np.random.default_rng(2).integers(0, 1 << 64, (8, 4096), dtype=np.uint64)
    fill(machine, LM0, x)
    run(machine, "hmwrite $llm0v $lly12\nhmread $lly12 $lln0v\nhmwrite $lln0v $llx12\nhmread $llx0 $lln32v")
    run(machine, "hmwrite $llm0v $lly0\nhmread $lly12 $lln64v\nhmread $lly0 $lln80v")
    assert fetch(machine, LM1, 8).any()


@pytest.mark.parametrize("engine", AVAILABLE)
def test_split_double_product_fills_all_rows(engine):
    machine = Machine(engine)
    fill(machine, LM0, data(np.random.default_rng(4), 8, "d", 3))
    run(machine, "dbfn $lm0v $lm0v\ndbfn $lm8v $lr0v\ndmwrite $lm0v $ly0\ndmmulu $ly $lr0v $nowrite")
    run(
        machine,
        "dmmulu $ly $lr0v $ln0v\ndmmuld $ly $lr0v $ln8v\ndmmulu $ly $lr0v $nowrite\ndmfmad $ly $lr0v $mauf $ln16v",
    )
    parts = fetch(machine, LM1, 12).reshape(3, 4, 1024, 4)
    assert (parts[2, ..., :2] == parts[0, ..., :2]).all()
    assert (parts[2, ..., 2:] == parts[1, ..., 2:]).all()
    assert not parts[0, ..., 2:].any()


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("letter", ["f", "g"])
def test_sums_next_to_a_tie(letter, engine):
    """As for vectors: the product is half way between two results, the addend decides."""
    machine = Machine(engine)
    factor = np.zeros((4, 1024, 4, 2), np.float32)
    factor[:, :, 0, 1] = 1 + 2**-12  # the upper word of one PE
    tiny = TINY[np.arange(4 * 4096 * 2).reshape(4, 4096, 2) % len(TINY)]
    fill(machine, LM0, factor.view(np.uint64).reshape(4, 4096))
    fill(machine, LM1, tiny.view(np.uint64)[..., 0])
    text = "X bfn $lm0v $lr0v\nX mwrite $lr0v $lx0\nX mwrite $lr0v $lx4\nX mfma $lx $lr0v $ln0v $ls0v"
    run(machine, text.replace("X ", letter))
    got = fetch(machine, GRF1, 4).view(np.uint32).reshape(4, 4096, 2)
    assert (got == np.where(tiny != 0, 0x3F801001, 0x3F801000)).all()
