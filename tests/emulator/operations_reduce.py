"""Reductions over MABs and L1Bs as `Operation`s: all four instructions of an operator in one program."""

import numpy as np

from pfcomp.emulator.formats import BY_LETTER, HALF, SINGLE
from pfcomp.emulator.micro import REDUCTIONS as OPERATORS
from pfcomp.emulator.reference import reduction
from pfcomp.emulator.reference.numbers import convert
from pfcomp.isa import REDUCTIONS
from tests.emulator.chip import BITS, LM0, elements, fill, random_words, run
from tests.emulator.oracle import Operation

FOURS = [list(range(4 * g, 4 * g + 4)) for g in range(4)]
TREES = {2: [[0, 1]], 4: [[0, 1, 2, 3]], 8: [[0, 1, 2, 3], [4, 5, 6, 7]], 16: FOURS}


def near_cancellation(rng, words, letter):
    """In half of the places the second of two neighbouring MABs holds nearly the negative of the first."""
    if letter not in BY_LETTER:
        return words
    bits = BITS[letter]
    mabs = words.reshape(4, 512, 2, 4).copy()
    sign = sum(1 << (shift + bits - 1) for shift in range(0, 64, bits))
    near = mabs[:, :, 0] ^ np.uint64(sign) ^ rng.integers(0, 2, (4, 512, 4)).astype(np.uint64)
    mabs[:, :, 1] = np.where(rng.random(near.shape) < 0.5, near, mabs[:, :, 1])
    return mabs.reshape(4, 4096)


def make(letter):
    def inputs(rng, spread):
        return {
            "pes": near_cancellation(rng, random_words(rng, 4, letter, spread), letter),
            "l1bm": random_words(rng, 2, letter, spread).ravel()[:4096].reshape(8, 8, 64),
        }

    return inputs


def execute(text):
    def step(machine, inputs):
        fill(machine, LM0, inputs["pes"])
        machine.state.l1bm[:, :, 512:576] = inputs["l1bm"]
        run(machine, text)
        return {"l1": machine.state.l1bm[:, :, :128].copy(), "l2": machine.state.l2bm[:, :512].copy()}

    return step


def groups(inputs):
    """`[group][operand]` long words: 16 MABs, four MABs, eight L1Bs, two L1Bs."""
    mabs = inputs["pes"].reshape(4, 8, 8, 16, 4).transpose(1, 2, 0, 4, 3)  # tile, L1B, cycle, PE, MAB
    l1bs = inputs["l1bm"].transpose(0, 2, 1)  # tile, LW, L1B
    return [mabs.reshape(-1, 16), mabs.reshape(-1, 4), l1bs.reshape(-1, 8), l1bs.reshape(-1, 2)]


def results(outputs):
    """The results in the order of `groups`."""
    l1, l2 = outputs["l1"], outputs["l2"]
    fours = l1[:, :, 64:].reshape(8, 8, 4, 4, 4).swapaxes(3, 4)  # cycle, group, PE -> cycle, PE, group
    pairs = l2[:, 256:].reshape(8, 4, 4, 16).swapaxes(2, 3)  # cycle, pair, LW -> cycle, LW, pair
    return [l1[:, :, :16].ravel(), fours.ravel(), l2[:, :64].ravel(), pairs.ravel()]


def cases(bits):
    def split(inputs, outputs):
        operands, got = [], []
        for words, result in zip(groups(inputs), results(outputs), strict=True):
            lanes = elements(words, bits).swapaxes(1, 2).reshape(-1, words.shape[1])
            operands += [tuple(lane) for lane in lanes.tolist()]
            got.append(elements(result, bits).ravel())
        column = np.empty(len(operands), object)
        column[:] = operands
        return [column], [np.concatenate(got)]

    return split


def _half_tree(lanes):
    """The half sum in an L1BM runs on the single adder; only its last rounding is to half."""
    singles = [convert(bits, HALF, SINGLE) for bits in lanes]
    if len(singles) == 4:
        return reduction.float_sum(singles, SINGLE, HALF)
    level = [reduction.float_sum([singles[i] for i in group], SINGLE, SINGLE) for group in FOURS]
    return reduction.float_sum(level, SINGLE, HALF)


def model(op):
    function, bits = OPERATORS[op[1:]], BITS[op[0]]

    def value(lanes):
        if op == "hfadd" and len(lanes) in (4, 16):
            return (_half_tree(lanes),)
        return (reduction.tree(function, list(lanes), bits, TREES[len(lanes)]),)

    return value


def reduce(op):
    text = f"l1bmr{op} $lm0v $lb0\nl1bmr4{op} $lm0v $lb64\nl2bmr{op} $lb512 $lc0\nl2bmr2{op} $lb512 $lc256"
    return Operation(f"r{op}", make(op[0]), execute(text), cases(BITS[op[0]]), model(op))


REDUCE = [reduce(op) for op in REDUCTIONS]
