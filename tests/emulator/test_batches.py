"""What the C engine does in one call, and what it remembers between calls."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.c.batches import Batch, batches
from pfcomp.emulator.lower.program import lower
from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.rows import MATRIX_ROW
from pfcomp.emulator.runs import runs_of
from pfcomp.isa import parse
from pfcomp.isa.model import Place
from tests.emulator.chip import AVAILABLE, GRF1, LM0, fill, random_words, run

MIXED = """\
l1bmd $lb0 $lm0v
mvp/n64 $d0 $lc0@.0
l2bmb $lc0 $lb0
mvb/n64 $p0@0 $lc64
mvrliadd/n64 $lc0 $p64@0
linc $lm0v $ln0v
d get $lm0n0c0b0m0p0 1
mvd/n128 $p0@0 $lc128
"""
needs_c = pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")


def test_moves_join_operations_and_debug_statements_do_not():
    lowered = lower(parse(MIXED), {Place.BAR0: 0, Place.BAR1: 0})
    parts = batches(lowered)
    kinds = [part.code if isinstance(part, Micro) else type(part) for part in parts]
    assert kinds == [Batch, Code.GET, Batch]
    assert parts[0].parts.tolist() == [[1, 0], [0, 4], [1, 0], [0, 8], [0, 0], [0, 1], [0, 0], [1, 0]]
    assert parts[0].phases[:, :2].tolist() == [[0, 5], [5, 1], [6, 2]]
    assert parts[0].ops.shape == (3, 49)


@pytest.mark.parametrize(
    "text",
    ["mvp/n64 $lc0@.0 $di0", "mvp/n64 $di0 $lc0@.0", "mvp/n64 $p0@0 $p512@0"],
)
def test_moves_without_runs(text):
    (move,) = parse(text).statements
    mapping = Machine("numpy").load(parse(text)).lowered((False, False)).moves[0][1]
    assert runs_of(move, mapping) is None


@needs_c
@pytest.mark.parametrize("threads", [1, 3])
def test_batches_give_the_state_of_the_numpy_engine(threads):
    rng = np.random.default_rng(3)
    l1bm, data = (rng.integers(0, 1 << 64, shape, dtype=np.uint64) for shape in ((8, 8, 256), (4, 256)))
    states = []
    for chip in (Machine("numpy"), Machine("c", threads=threads)):
        chip.state.l1bm[:, :, :256] = l1bm
        for group in range(4):
            chip.dram.write(group, 0, data[group])
            chip.pdm.write(group, 0, data[group][::-1])
        dump = run(chip, MIXED).dump
        states.append((chip.state.mem[:, :4608].copy(), chip.state.l2bm.copy(), chip.pdm.read(0, 64, 64), dump))
    for one, two in zip(*states, strict=True):
        assert np.array_equal(one, two)


@needs_c
def test_matrices_are_decoded_again_after_writes():
    """Within a run after `mwrite`, between runs after writes of the host; moves leave them alone."""
    product, move = "hmmul $lx $ls0v $llm", "mvp/n64 $d0 $lc0@.0"
    lines = ["hmwrite $lm0v $lx0", move, f"{product}64v", move, "hmwrite $ls0v $lx4", f"{product}80v"]
    results = []
    for engine in ("numpy", "c"):
        chip = Machine(engine)
        rng = np.random.default_rng(4)
        fill(chip, LM0, random_words(rng, 4, "h", 2))
        fill(chip, GRF1, random_words(rng, 4, "h", 2))
        run(chip, "hbfn $lm0v $lm0v\nhbfn $ls0v $ls0v")
        run(chip, "\n".join([*lines, f"{product}96v"]))
        chip.state.mem[:, MATRIX_ROW[Place.MATRIX_X] + 3] ^= np.uint64(0x8000)
        run(chip, f"{product}112v")
        results.append(chip.state.mem[:, 32:64].reshape(8, 4, 8, 512).copy())
    first, second, same, changed = results[0].swapaxes(0, 1)
    assert (results[0] == results[1]).all()
    assert (first != second).any()
    assert (second == same).all()
    assert (same != changed).any()
