"""ALU operations with their flags as `Operation`s, and all 16-bit inputs of the operations on halves and shorts."""

import numpy as np

from pfcomp.emulator.lower.alu import _EXTREMES, _PLAIN
from pfcomp.emulator.reference.alu import evaluate
from pfcomp.isa import OPS
from tests.emulator.chip import BITS, GRF0, LM0, LM1, elements, fetch, fill, join, random_words, run
from tests.emulator.oracle import Operation, edges, pairs, with_first

NAMES = [*_PLAIN, "max", "min", "passa"]
CASES = [
    (precision, name, unsigned)
    for name in NAMES
    for precision in OPS[name].precisions
    for unsigned in ((False, True) if precision in OPS[name].unsigned else (False,))
]
SHIFTS = ("lsl", "lsr", "bsl", "bsr")


def takes_two(name):
    return len(OPS[name].forms[0].sources) == 2


def expected_flag(name, bits, unsigned, x, y, result):
    """isa.md 9.2, column flag."""
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


def execute(precision, name, unsigned):
    text = f"{'u' if unsigned else ''}{precision}{name} $lm0v {'$ln0v' if takes_two(name) else ''} $lr0v $omr3"

    def step(machine, inputs):
        fill(machine, LM0, inputs["x"])
        fill(machine, LM1, inputs["y"])
        run(machine, text)
        run(machine, 'imm i"-1" $lm8v\nlpassa $lm8v $ln8v/$imr3')
        return {"result": fetch(machine, GRF0, 4), "mask": fetch(machine, LM1, 4, 4)}

    return step


def model(precision, name, unsigned):
    bits = BITS[precision]
    ones = (1 << bits) - 1
    op = _PLAIN.get(name, _EXTREMES.get((name, precision in "dfh")))

    def both(x, y=0):
        result = x if op is None else evaluate(op, x, y, bits, unsigned)
        return result, ones if expected_flag(name, bits, unsigned, x, y, result) else 0

    return both


def columns(precision, name):
    bits = BITS[precision]

    def split(inputs, outputs):
        operands = ("x", "y") if takes_two(name) else ("x",)
        return (
            [elements(inputs[key], bits).ravel() for key in operands],
            [elements(outputs[key], bits).ravel() for key in ("result", "mask")],
        )

    return split


def operation(precision, name, unsigned):
    first, second = pairs(edges(precision), edges(precision)) if takes_two(name) else (edges(precision), [])

    def make(rng, spread):
        x, y = (random_words(rng, 4, precision, spread) for _ in range(2))
        y = np.where(rng.random(x.shape) < 0.1, x, y)
        return {"x": with_first(x, BITS[precision], first), "y": with_first(y, BITS[precision], second)}

    title = f"{'u' if unsigned else ''}{precision}{name}"
    return Operation(
        title, make, execute(precision, name, unsigned), columns(precision, name), model(precision, name, unsigned),
        len(first),
    )  # fmt: skip


def every_pattern():
    """Four rows with each 16-bit pattern once."""
    return join(np.arange(1 << 16, dtype=np.uint64).reshape(4, 4096, 4), 16)


def exhaustive(precision, name, unsigned):
    """All inputs of an operation on 16-bit elements with one operand, or with one of the 16 shift counts for each."""
    counts = iter(range(16))

    def make(rng, spread):
        count = next(counts) if takes_two(name) else 0
        high = rng.integers(0, 1 << 12, (4, 4096, 4), dtype=np.uint64) << np.uint64(4)
        return {"x": every_pattern(), "y": join(high | np.uint64(count), 16)}

    def split(inputs, outputs):
        operands, results = columns(precision, name)(inputs, outputs)
        return [operands[0], operands[1] & np.uint64(15)] if takes_two(name) else operands, results

    title = f"{'u' if unsigned else ''}{precision}{name} all"
    return Operation(title, make, execute(precision, name, unsigned), split, model(precision, name, unsigned))


ALU = [operation(*case) for case in CASES]
ALL_SHORT = [
    (precision, name, unsigned) for precision, name, unsigned in CASES if BITS[precision] == 16 and not takes_two(name)
]
ALL_SHIFTS = [(precision, name, unsigned) for precision, name, unsigned in CASES if precision == "s" and name in SHIFTS]
