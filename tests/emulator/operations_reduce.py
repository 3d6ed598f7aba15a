"""Reductions over MABs, L1Bs and L2Bs as `Operation`s: all instructions of an operator in one program."""

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


def _float_groups(lanes, source, output):
    """Single sums of halves or singles whose last rounding goes to `output`."""
    singles = [bits if source is SINGLE else convert(bits, source, SINGLE) for bits in lanes]
    if len(singles) == 16:
        singles = [reduction.float_sum([singles[i] for i in group], SINGLE, SINGLE) for group in FOURS]
    return (reduction.float_sum(singles, SINGLE, output),)


# Instruction -> its text, the operand's element, the result's element, elements of a long word that take part.
MIXED = {
    "ffaddr": ("l1bmrffaddr $lm0v $lb0\nl1bmr4ffaddr $lm0v $lb64", SINGLE, HALF, 2),
    "ffadd e": ("l1bmrffadd $lm0ve $lb0\nl1bmr4ffadd $lm0ve $lb64", HALF, SINGLE, 2),
    "ffaddr e": ("l1bmrffaddr $lm0ve $lb0\nl1bmr4ffaddr $lm0ve $lb64", HALF, HALF, 2),
}


def mixed_cases(source, output, count):
    """The upper `count` elements of operands and of results, counted from the most significant end."""

    def split(inputs, outputs):
        operands, got = [], []
        for words, result in zip(groups(inputs)[:2], results(outputs)[:2], strict=True):
            lanes = elements(words, source.bits)[..., :count].swapaxes(1, 2).reshape(-1, words.shape[1])
            operands += [tuple(lane) for lane in lanes.tolist()]
            got.append(elements(result, output.bits)[:, :count].ravel())
        column = np.empty(len(operands), object)
        column[:] = operands
        return [column], [np.concatenate(got)]

    return split


def mixed(name):
    text, source, output, count = MIXED[name]
    letter = "f" if source is SINGLE else "h"

    def value(lanes):
        return _float_groups(lanes, source, output)

    return Operation(f"l1bmr {name}", make(letter), execute(text), mixed_cases(source, output, count), value)


MOVED = 1024  # long words of each L2B
PAIRS = [[0, 1], [2, 3], [4, 5], [6, 7]]  # the two L2Bs of a group meet first


def moved_inputs(letter):
    def inputs(rng, spread):
        rows = random_words(rng, 2, letter, spread).ravel()
        if letter in BY_LETTER:
            rows = near_cancellation(rng, np.tile(rows, 2).reshape(4, 4096), letter).ravel()[: 8 * MOVED]
        return {"l2bm": rows.reshape(8, MOVED)}

    return inputs


def moved_step(op):
    size = f"n{MOVED}"
    text = f"mvr{op}/{size} $lc0 $p0@0\nmvr2{op}/{size} $lc0 $d0\nmvr4{op}/{size} $lc0 $d4096"

    def step(machine, inputs):
        machine.state.l2bm[:, :MOVED] = inputs["l2bm"]
        run(machine, text)
        two = np.stack([machine.dram.read(group, 0, MOVED) for group in range(4)])
        four = np.stack([machine.dram.read(group, 4096, MOVED // 2) for group in range(4)])
        return {"all": machine.pdm.read(0, 0, MOVED), "two": two, "four": four}

    return step


def moved_cases(bits):
    def split(inputs, outputs):
        l2bm, blocks = inputs["l2bm"], outputs["four"].reshape(4, -1, 2, 16)  # group, block of 4 x 16, c, LW
        words = [l2bm.T, *(l2bm[2 * g : 2 * g + 2].T for g in range(4)), *(l2bm[c::2].T for c in range(2))]
        got = [outputs["all"], *outputs["two"], *(blocks[:, :, c].swapaxes(0, 1).ravel() for c in range(2))]
        operands = []
        for part in words:
            lanes = elements(part, bits).swapaxes(1, 2).reshape(-1, part.shape[1])
            operands += [tuple(lane) for lane in lanes.tolist()]
        column = np.empty(len(operands), object)
        column[:] = operands
        return [column], [np.concatenate([elements(part, bits).ravel() for part in got])]

    return split


def moved(op):
    function, bits = OPERATORS[op[1:]], BITS[op[0]]
    trees = {**TREES, 8: PAIRS}

    def value(lanes):
        return (reduction.tree(function, list(lanes), bits, trees[len(lanes)]),)

    return Operation(f"mvr{op}", moved_inputs(op[0]), moved_step(op), moved_cases(bits), value)


MIXED_SUMS = [mixed(name) for name in MIXED]
MOVES = [moved(op) for op in REDUCTIONS]
