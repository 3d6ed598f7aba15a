"""Matrix registers, matrix times vector and block float against the scalar models."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.formats import BY_LETTER, DOUBLE, HALF, SINGLE
from pfcomp.emulator.reference import block, mau
from tests.emulator.chip import AVAILABLE, GRF0, GRF1, LM0, LM1, elements, fetch, fill, random_words, run

SIZE = {"d": 4, "f": 8, "g": 8, "h": 16}
LENGTH = {"d": 52, "f": 23, "g": 18, "h": 9}
CHECKED_MABS = 12


def data(rng, rows, letter, spread):
    return random_words(rng, rows, {"g": "f"}.get(letter, letter), spread)


def by_mab(words, bits):
    """`[row][MAB][element]`, PE by PE."""
    parts = elements(words, bits)
    return parts.reshape(len(words), 1024, -1)


def write_matrix(machine, letter, first_row):
    """Load all rows of register x from LM0 (rows in order), `first_row` in long words."""
    steps = SIZE[letter] // 4
    run(machine, "\n".join(f"{letter}mwrite $lm{2 * first_row + 8 * s}v $lx{4 * s}" for s in range(steps)))


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("extended", [False, True])
@pytest.mark.parametrize("length", [6, 7, 8, 9])
@pytest.mark.parametrize("spread", [1, 8, 30])
def test_half_block_float(length, spread, extended, engine):
    check_block("h", length, spread, "bfe" if extended else "bfn", extended, engine)


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("letter", ["d", "f", "g"])
@pytest.mark.parametrize("spread", [1, 15, 60])
def test_block_float(letter, spread, engine):
    check_block(letter, LENGTH[letter], spread, "bfn", False, engine)


def check_block(letter, length, spread, name, extended, engine):
    rng = np.random.default_rng(spread + length)
    machine = Machine(engine)
    x = data(rng, 4, letter, spread)
    x = np.where(rng.random(4096) < 0.1, x & np.uint64(0x8000_8000_8000_8000), x)  # blocks of zeros too
    fill(machine, LM0, x)
    suffix = f"/{length}" if letter == "h" else ""
    run(machine, f"{letter}{name}{suffix} $lm0v $lr0v")
    fmt = BY_LETTER[letter]
    given, got = by_mab(x, fmt.bits), by_mab(fetch(machine, GRF0, 4), fmt.bits)
    for row in range(4):
        for mab in range(0, 1024, 3):
            for members in blocks(letter):
                want = block.normalise(given[row, mab, members].tolist(), fmt, length, extended=extended)
                assert got[row, mab, members].tolist() == want


def blocks(letter):
    """Element indices of each block of a MAB."""
    return [[0, 2, 4, 6], [1, 3, 5, 7]] if letter == "f" else [list(range(SIZE[letter]))]


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
@pytest.mark.parametrize("regular", [True, False])
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("letter", ["d", "f", "g", "h"])
def test_matrix_vector(letter, narrow, regular, engine):
    if not regular and letter == "d" and narrow:
        pytest.skip("the same lanes as without narrowing")
    rng = np.random.default_rng(ord(letter) + narrow)
    machine = Machine(engine)
    size, fmt = SIZE[letter], BY_LETTER[letter]
    addend = DOUBLE if letter == "d" else SINGLE
    matrix, vector = data(rng, size, letter, 4), data(rng, 4, letter, 4)
    if not regular:  # blocks that are not block float stay rare
        keep = np.repeat(rng.random(1024) < 0.03, 4)
        matrix, vector = (np.where(keep, part, np.uint64(0)) for part in (matrix, vector))
    fill(machine, LM0, matrix)
    fill(machine, LM0, vector, 64)
    y = random_words(rng, 8, "d" if letter == "d" else "f", 6)
    fill(machine, GRF1, y)
    if regular:
        lines = [f"{letter}bfn{'/9' if letter == 'h' else ''} $lm{8 * i}v $lm{8 * i}v" for i in range(size // 4)]
        run(machine, "\n".join([*lines, f"{letter}bfn{'/9' if letter == 'h' else ''} $lm128v $lm128v"]))
    matrix, vector = fetch(machine, LM0, size), fetch(machine, LM0, 4, 64)
    write_matrix(machine, letter, 0)
    wide = letter == "h"
    tail = "r" if narrow else ""
    target = "$lln0v" if wide and not narrow else "$ln0v"
    source = "$lls0v" if wide else "$ls0v"
    if letter == "d":
        run(machine, f"dmfmau{tail} $lx $lm128v {source} $ln0v\ndmmuld{tail} $lx $lm128v $ln8v")
    else:
        run(machine, f"{letter}mfma{tail} $lx $lm128v -{source} {target}")
    check_matvec(machine, letter, narrow, matrix, vector, y, fmt, addend)


def check_matvec(machine, letter, narrow, matrix, vector, y, fmt, addend):
    rows, columns = by_mab(matrix, fmt.bits), by_mab(vector, fmt.bits)
    output = {"d": SINGLE}.get(letter, HALF) if narrow else addend
    got, addends = outputs(machine, letter, narrow), addend_elements(y, letter)
    step = 2 if letter == "f" else 1
    mabs = [m for m in range(1024) if rows[:, m].any()][:CHECKED_MABS]
    for cycle in range(4):
        for mab in mabs:
            for i in range(SIZE[letter]):
                row = rows[i, mab, ::step].tolist() if letter != "d" or i < 2 else [0] * 4
                z = int(addends[cycle, mab, i])
                z ^= 0 if letter == "d" else 0x8000_0000
                x = columns[cycle, mab, ::step].tolist()
                want = mau.matrix_vector(row, x, z, fmt, addend, output, pseudo=letter == "g")
                assert got[cycle, mab, i] == want, (cycle, mab, i, row, x, z)


def addend_elements(y, letter):
    if letter == "d":
        return by_mab(y[:4], 64)
    if letter != "h":
        return by_mab(y[:4], 32)
    parts = np.concatenate([elements(y[0::2], 32), elements(y[1::2], 32)], axis=-1)
    return parts.reshape(4, 1024, 16)


def outputs(machine, letter, narrow):
    rows = fetch(machine, LM1, 8)
    if letter == "h" and not narrow:
        return addend_elements(rows, "h")
    if letter == "h":
        return by_mab(rows[:4], 16)
    if letter == "d":
        return by_mab(rows[:4], 32)[..., ::2] if narrow else by_mab(rows[:4], 64)
    if narrow:
        return elements(rows[:4], 16)[..., :2].reshape(4, 1024, 8)
    return by_mab(rows[:4], 32)


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
