"""Vector MAU operations against the scalar model."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.formats import DOUBLE, HALF, SINGLE
from pfcomp.emulator.reference import mau
from tests.emulator.chip import AVAILABLE, GRF0, LM0, LM1, elements, fetch, fill, random_words, run

CHECKED = 400
FORMATS = {"d": DOUBLE, "f": SINGLE, "h": HALF}
ADDEND = {"d": DOUBLE, "f": SINGLE, "h": SINGLE}
NARROW = {"d": SINGLE, "f": HALF, "h": HALF}
OPERATIONS = ("vfma", "vmul", "vadd", "vpassa")


def expected(name, x, y, z, precision, narrow):
    fmt, addend = FORMATS[precision], ADDEND[precision]
    output = NARROW[precision] if narrow else addend
    if name == "vfma":
        return mau.vector_fma(x, y, z, fmt, addend, output)
    if name == "vmul":
        return mau.vector_mul(x, y, fmt, output)
    return mau.vector_add(x, z, fmt, addend, output) if name == "vadd" else mau.vector_passa(x, fmt, output)


def cancel(rng, x, y, z, precision, name):
    """In a part of the lanes make z nearly -x·y (or -x), so that leading bits cancel."""
    few = rng.random(x.shape) < 0.3
    fmt, addend = FORMATS[precision], ADDEND[precision]
    product = np.vectorize(
        lambda a, b: mau.vector_mul(a, b, fmt, addend) if name == "vfma" else mau.vector_passa(a, fmt, addend),
        otypes=[np.uint64],
    )
    near = product(x, y) ^ np.uint64(1 << (addend.bits - 1))
    near = near ^ rng.integers(0, 4, x.shape).astype(np.uint64)
    return np.where(few, near, z)


def operands(rng, name, precision, half):
    """Element arrays [4][PE][n] of x, y, z; z in the addend's format."""
    spread = 6 if half else 20
    x, y = (elements(random_words(rng, 4, precision, spread)[:, :CHECKED], FORMATS[precision].bits) for _ in range(2))
    letter = "f" if precision == "h" else precision
    count = x.shape[-1] // (2 if precision == "h" else 1)
    z = [elements(random_words(rng, 4, letter, spread)[:, :CHECKED], ADDEND[precision].bits) for _ in range(2)]
    z = np.concatenate(z, axis=-1)[..., : x.shape[-1]]
    assert count
    return x, y, cancel(rng, x, y, z, precision, name)


def words(parts, bits):
    """[4][PE][n] elements to [4][4096] long words (the rest zero)."""
    shifts = np.arange(64 - bits, -1, -bits, dtype=np.uint64)
    joined = (parts << shifts).sum(axis=-1, dtype=np.uint64)
    return np.pad(joined, ((0, 0), (0, 4096 - joined.shape[1])))


def interleave(z):
    """Four singles per element group to rows LW0, LW1, LW0, …"""
    high, low = words(z[..., :2], 32), words(z[..., 2:], 32)
    return np.stack([high, low], axis=1).reshape(8, 4096)


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("precision", ["d", "f", "h"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_vector_operation(name, precision, narrow, engine):
    rng = np.random.default_rng(11 + OPERATIONS.index(name))
    machine = Machine(engine)
    x, y, z = operands(rng, name, precision, precision == "h")
    bits = FORMATS[precision].bits
    fill(machine, LM0, words(x, bits))
    fill(machine, LM1, words(y, bits))
    fill(machine, GRF0, interleave(z) if precision == "h" else words(z, ADDEND[precision].bits))
    third = "$llr0v" if precision == "h" else "$lr0v"
    sources = {"vfma": f"$lm0v $ln0v {third}", "vmul": "$lm0v $ln0v", "vadd": f"$lm0v {third}", "vpassa": "$lm0v"}[name]
    split = "u" if precision == "d" and name in ("vfma", "vmul") else ""
    wide = precision == "h" and not narrow
    run(machine, f"{precision}{name}{split}{'r' if narrow else ''} {sources} {'$llm64v' if wide else '$lm64v'}")
    got = result_elements(machine, precision, narrow)[:, :CHECKED]
    for index in np.ndindex(got.shape):
        a, b = int(x[index]), int(y[index])
        if split and index[1] % 4 > 1:  # only PEs 0 and 1 multiply
            a = b = 0
        want = expected(name, a, b, int(z[index]), precision, narrow)
        assert int(got[index]) == want, (index, hex(a), hex(b), hex(int(z[index])), hex(want), hex(int(got[index])))


def result_elements(machine, precision, narrow):
    rows = fetch(machine, LM0, 8, 32)
    if precision == "h" and not narrow:
        return np.concatenate([elements(rows[0::2], 32), elements(rows[1::2], 32)], axis=-1)
    if precision == "h":
        return elements(rows[:4], 16)
    if precision == "d":
        return elements(rows[:4], 32)[..., :1] if narrow else elements(rows[:4], 64)
    return elements(rows[:4], 16)[..., :2] if narrow else elements(rows[:4], 32)


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
