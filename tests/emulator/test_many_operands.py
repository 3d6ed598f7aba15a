"""Every arithmetic operation on both engines with all 4096 PEs: 16,384 to 65,536 operand sets each, 10 million if slow.

The numpy engine is compared with the scalar models elsewhere; here it is the oracle of the C engine.
"""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.isa import OPS, REDUCTIONS
from tests.emulator.chip import AVAILABLE, GRF0, LM0, LM1, fetch, fill, random_words, run
from tests.emulator.test_alu_operations import CASES

FIRST, SECOND, THIRD = "$lm0v", "$ln0v", "$llr0v"
SOURCES = {"vfma": (FIRST, SECOND, THIRD), "vmul": (FIRST, SECOND), "vadd": (FIRST, THIRD), "vpassa": (FIRST,)}
SLOW_ROUNDS = 160

pytestmark = pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")


def alu_lines():
    for precision, name, unsigned in CASES:
        two = len(OPS[name].forms[0].sources) == 2
        yield precision, f"{'u' if unsigned else ''}{precision}{name} {FIRST} {SECOND if two else ''} $llm64v $omr1"


def mau_lines():
    for precision in "dfh":
        for name, operands in SOURCES.items():
            for narrow in ("", "r"):
                split = "u" if precision == "d" and name in ("vfma", "vmul") else ""
                yield precision, f"{precision}{name}{split}{narrow} {' '.join(operands)} $llm64v $omr1"


def other_lines():
    for length in (6, 7, 8, 9):
        yield "h", f"hbfn/{length} {FIRST} $llm64v"
        yield "h", f"hbfe/{length} {FIRST} $llm64v"
    for precision in "dfg":
        yield {"g": "f"}.get(precision, precision), f"{precision}bfn {FIRST} $llm64v"
    for op in REDUCTIONS:
        yield op[0], f"l1bmr{op} {FIRST} $lb0\nl2bmr{op} $lb0 $lc0\nl1bmp $lb0 $lm64v4"


def compare(precision, line, seed, spread):
    rng = np.random.default_rng(seed)
    x, y = (random_words(rng, 4, precision, spread) for _ in range(2))
    z = random_words(rng, 8, {"h": "f"}.get(precision, precision), spread)
    results = []
    for engine in ("numpy", "c"):
        machine = Machine(engine)
        for place, data in ((LM0, x), (LM1, y), (GRF0, z)):
            fill(machine, place, data)
        run(machine, line)
        state = machine.state
        results.append((fetch(machine, LM0, 8, 32), state.mem[:, 4620:4624].copy(), state.l2bm[:, :64].copy()))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two), (line, np.argwhere(one != two)[:4].tolist())


LINES = [*alu_lines(), *mau_lines(), *other_lines()]


@pytest.mark.parametrize(("precision", "line"), LINES, ids=[line.split("\n")[0] for _, line in LINES])
def test_engines(precision, line):
    compare(precision, line, 1, 9)


@pytest.mark.slow
@pytest.mark.parametrize(("precision", "line"), LINES, ids=[line.split("\n")[0] for _, line in LINES])
def test_engines_long(precision, line):
    for seed in range(SLOW_ROUNDS):
        compare(precision, line, seed, (1, 6, 20, 60, 300)[seed % 5])
