"""Block-float normalisation and matrix-vector products as `Operation`s."""

import numpy as np

from pfcomp.emulator.formats import BY_LETTER, DOUBLE, HALF, SINGLE
from pfcomp.emulator.reference import block, mau
from tests.emulator.chip import GRF0, GRF1, LM0, LM1, elements, fetch, fill, join, random_words, run
from tests.emulator.oracle import Operation

SIZE = {"d": 4, "f": 8, "g": 8, "h": 16}
LENGTH = {"d": 52, "f": 23, "g": 18, "h": 9}
# Which element columns of a MAB form one block.
BLOCKS = {
    letter: [[0, 2, 4, 6], [1, 3, 5, 7]] if letter == "f" else [list(range(size))] for letter, size in SIZE.items()
}
OUTPUT = {"d": SINGLE, "f": HALF, "g": HALF, "h": HALF}  # of narrow products


def data(rng, rows, letter, spread):
    return random_words(rng, rows, {"g": "f"}.get(letter, letter), spread)


def tamed(rng, words, letter):
    """In four MABs of five no element near the top of the range: one would round all others of its block to zero."""
    fmt = BY_LETTER[letter]
    parts, tame = elements(words, fmt.bits), np.repeat(rng.random(1024) < 0.8, 4)[:, None]
    high = (parts >> np.uint64(fmt.mantissa)) & np.uint64(fmt.infinite) >= fmt.infinite - 2
    return join(np.where(high & tame, parts ^ np.uint64(1 << (fmt.bits - 2)), parts), fmt.bits)


def by_mab(words, bits):
    """`[row][MAB][element]`, PE by PE."""
    return elements(words, bits).reshape(len(words), 1024, -1)


def blocks_of(rows, letter):
    """`[block][element]` of all rows and MABs."""
    parts = by_mab(rows, BY_LETTER[letter].bits)
    return np.stack([parts[..., members] for members in BLOCKS[letter]], axis=2).reshape(-1, len(BLOCKS[letter][0]))


def addend_elements(y, letter):
    if letter == "d":
        return by_mab(y[:4], 64)
    if letter != "h":
        return by_mab(y[:4], 32)
    return np.concatenate([elements(y[0::2], 32), elements(y[1::2], 32)], axis=-1).reshape(4, 1024, 16)


def outputs(rows, letter, narrow):
    """`[cycle][MAB][element]` of a product in LM1."""
    if not narrow:
        return addend_elements(rows, letter)
    if letter == "h":
        return by_mab(rows[:4], 16)
    if letter == "d":
        return by_mab(rows[:4], 32)[..., ::2]
    return elements(rows[:4], 16)[..., :2].reshape(4, 1024, 8)


def normalisation(letter, length, extended):
    fmt, suffix = BY_LETTER[letter], f"/{length}" if letter == "h" else ""

    def make(rng, spread):
        x = tamed(rng, data(rng, 4, letter, spread), letter)
        zeros = np.repeat(rng.random(1024) < 0.03, 4)
        ones = rng.random(4096) < 0.1  # mantissas of ones: the carry into the common exponent
        mantissas = sum(((1 << fmt.mantissa) - 1) << shift for shift in range(0, 64, fmt.bits))
        return {"x": np.where(zeros, x & np.uint64(0x8000_8000_8000_8000), np.where(ones, x | np.uint64(mantissas), x))}

    def step(machine, inputs):
        fill(machine, LM0, inputs["x"])
        run(machine, f"{letter}{'bfe' if extended else 'bfn'}{suffix} $lm0v $lr0v")
        return {"result": fetch(machine, GRF0, 4)}

    def model(members):
        return (tuple(block.normalise(list(members), fmt, length, extended=extended)),)

    def cases(inputs, results):
        return [blocks_of(inputs["x"], letter)], [blocks_of(results["result"], letter)]

    return Operation(f"{letter}{'bfe' if extended else 'bfn'}{suffix}", make, step, cases, model)


BLOCK = [normalisation("h", length, extended) for length in (6, 7, 8, 9) for extended in (False, True)]
BLOCK += [normalisation(letter, LENGTH[letter], False) for letter in "dfg"]


def matrix_lines(letter, narrow, split, multiply, regular):
    """Normalise matrix (LM0 rows 0 to 15) and vectors (from row 64), load the register, multiply."""
    size, suffix = SIZE[letter], "/9" if letter == "h" else ""
    places = [8 * i for i in range(size // 4)]
    lines = [f"{letter}bfn{suffix} $lm{p}v $lm{p}v" for p in (*places, 128)] if regular else []
    lines += [f"{letter}mwrite $lm{p}v $lx{p // 2}" for p in places]
    wide = "ll" if letter == "h" else "l"
    target = "$lln0v" if letter == "h" and not narrow else "$ln0v"
    head = f"{letter}{'mmul' if multiply else 'mfma'}{split}{'r' if narrow else ''}"
    return "\n".join([*lines, f"{head} $lx $lm128v {'' if multiply else f'${wide}s0v '}{target}"]), head


def matvec(letter, narrow, split="", multiply=False, keep=None):
    """`keep`: only this share of the MABs holds anything, and what they hold is not block float."""
    fmt, size = BY_LETTER[letter], SIZE[letter]
    addend = DOUBLE if letter == "d" else SINGLE
    text, head = matrix_lines(letter, narrow, split, multiply, keep is None)
    rows_used = {"u": [0, 1], "d": [2, 3]}.get(split, list(range(size)))
    columns_used = slice(None, None, 2 if letter == "f" else 1)

    def make(rng, spread):
        spread = 4 if spread > 8 else spread
        matrix, vector = (tamed(rng, data(rng, rows, letter, spread), letter) for rows in (size, 4))
        chosen = np.repeat(rng.random(1024) < (1 if keep is None else keep), 4)
        matrix, vector = (np.where(chosen, part, np.uint64(0)) for part in (matrix, vector))
        y = random_words(rng, 8, "d" if letter == "d" else "f", 6)
        return {"matrix": matrix, "vector": vector, "y": y, "mabs": np.flatnonzero(chosen[::4])}

    def step(machine, inputs):
        for place, key, row in ((LM0, "matrix", 0), (LM0, "vector", 64), (GRF1, "y", 0)):
            fill(machine, place, inputs[key], row)
        run(machine, text)
        kept = {"matrix": fetch(machine, LM0, size), "vector": fetch(machine, LM0, 4, 64)}
        return {"result": fetch(machine, LM1, 8), **kept}

    def cases(inputs, results):
        mabs = inputs["mabs"]
        rows = by_mab(results["matrix"], fmt.bits)[rows_used][:, mabs, columns_used].swapaxes(0, 1)
        vectors = by_mab(results["vector"], fmt.bits)[:, mabs, columns_used]
        z = addend_elements(inputs["y"], letter)[:, mabs][..., rows_used]
        got = outputs(results["result"], letter, narrow)[:, mabs][..., rows_used]
        width, shape = rows.shape[-1], (*got.shape, rows.shape[-1])
        rows, vectors = np.broadcast_to(rows, shape), np.broadcast_to(vectors[:, :, None], shape)
        return [rows.reshape(-1, width), vectors.reshape(-1, width), z.ravel()], [got.ravel()]

    def model(row, vector, z):
        output = OUTPUT[letter] if narrow else addend
        z = 0 if multiply else z
        return (mau.matrix_vector(row, vector, z, fmt, addend, output, pseudo=letter == "g"),)

    return Operation(f"{head}{'' if keep is None else ' mixed'}", make, step, cases, model)


MATRIX = [
    matvec(letter, narrow, split, multiply)
    for letter in "dfgh"
    for multiply in (False, True)
    for narrow in (False, True)
    for split in (("u", "d") if letter == "d" else ("",))
]
MIXED = [matvec(letter, False, "u" if letter == "d" else "", False, 0.03) for letter in "dfgh"]
