"""ALU operations and their flags against the scalar model."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.lower.alu import _EXTREMES, _PLAIN
from pfcomp.emulator.reference.alu import evaluate
from pfcomp.isa import OPS
from tests.emulator.chip import AVAILABLE, BITS, GRF0, LM0, LM1, elements, fetch, fill, random_words, run

CHECKED = 700  # PEs of four rows each: between 2,800 and 11,200 elements
CASES = [
    (precision, name, unsigned)
    for name in [*_PLAIN, "max", "min"]
    for precision in OPS[name].precisions
    for unsigned in ((False, True) if precision in OPS[name].unsigned else (False,))
]


def operation(precision, name):
    return _PLAIN.get(name) or _EXTREMES[name, precision in "dfh"] if name != "inc" else _PLAIN["inc"]


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize(("precision", "name", "unsigned"), CASES)
def test_operation(precision, name, unsigned, engine):
    rng = np.random.default_rng(hash_free_seed(precision, name))
    machine = Machine(engine)
    x, y = (random_words(rng, 4, precision, 40) for _ in range(2))
    same = rng.random(x.shape) < 0.1
    y = np.where(same, x, y)
    fill(machine, LM0, x)
    fill(machine, LM1, y)
    two = len(OPS[name].forms[0].sources) == 2
    run(machine, f"{'u' if unsigned else ''}{precision}{name} $lm0v {'$ln0v' if two else ''} $lr0v")
    bits, got = BITS[precision], fetch(machine, GRF0, 4)
    op = operation(precision, name)
    for a, b, c in zip(*(elements(w[:, :CHECKED], bits).ravel().tolist() for w in (x, y, got)), strict=True):
        assert c == evaluate(op, a, b, bits, unsigned), (hex(a), hex(b))


def hash_free_seed(*parts):
    return sum(ord(letter) * (i + 1) for i, letter in enumerate("".join(parts)))


def expected_flag(name, precision, unsigned, x, y, result):
    bits = BITS[precision]
    if name in ("add", "inc"):
        return x + (y if name == "add" else 1) < 1 << bits if unsigned else not result >> (bits - 1)
    if name in ("sub", "dec"):
        return x >= (y if name == "sub" else 1) if unsigned else not result >> (bits - 1)
    if name in ("max", "min"):
        return result == x
    if name == "packbit":
        return not y >> (bits - 1)
    if name in ("lrelud", "lreluo", "ilrelud", "rsqrt"):
        return not x >> (bits - 1)
    if name.startswith("relu"):
        return not x >> (bits - 1 - int(name[4:] or 0)) & 1
    if name in ("floor", "ftoi"):
        return False
    return result == 0


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize(("precision", "name", "unsigned"), CASES)
def test_flags(precision, name, unsigned, engine):
    rng = np.random.default_rng(7)
    machine = Machine(engine)
    x, y = (random_words(rng, 4, precision, 2) for _ in range(2))
    fill(machine, LM0, x)
    fill(machine, LM1, y)
    two = len(OPS[name].forms[0].sources) == 2
    run(machine, f"{'u' if unsigned else ''}{precision}{name} $lm0v {'$ln0v' if two else ''} $lr0v $omr3")
    bits, got = BITS[precision], fetch(machine, GRF0, 4)
    run(machine, 'imm i"-1" $lm8v\nlpassa $lm8v $ln8v/$imr3')
    masks = fetch(machine, LM1, 4, 4)
    sample = slice(0, 4096, 29)
    columns = (elements(w[:, sample], bits).ravel().tolist() for w in (x, y, got, masks))
    for a, b, c, mask in zip(*columns, strict=True):
        expected = expected_flag(name, precision, unsigned, a, b, c)
        assert mask == ((1 << bits) - 1 if expected else 0), (hex(a), hex(b))
