"""L1BM, L2BM and MV transfers against the index formulas of isa.md 12 to 14; mixed and partial reductions."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.formats import HALF, SINGLE
from pfcomp.emulator.micro import REDUCTIONS as OPERATORS
from pfcomp.emulator.reference import reduction
from pfcomp.emulator.reference.numbers import convert
from pfcomp.isa import REDUCTIONS
from tests.emulator.chip import AVAILABLE, BITS, LM0, elements, fetch, fill, random_words, run

FOURS = [list(range(4 * g, 4 * g + 4)) for g in range(4)]
# instruction -> LW index inside of the span for LW number w (0, 1), cycle, MAB and PE; `two` long words each
DOWN = {
    "l1bmp": lambda two, w, c, m, p: 4 * w + c,
    "l1bmm": lambda two, w, c, m, p: (8 if two else 4) * c + 4 * w + p,
    "l1bmm4": lambda two, w, c, m, p: (32 if two else 16) * c + (8 if two else 4) * (m >> 2) + 4 * w + p,
    "l1bmd": lambda two, w, c, m, p: 64 * c + 4 * m + p,
}


def chip(engine, seed=0):
    machine, rng = Machine(engine), np.random.default_rng(seed)
    machine.state.l1bm[:] = rng.integers(0, 1 << 64, machine.state.l1bm.shape, dtype=np.uint64)
    machine.state.l2bm[:] = rng.integers(0, 1 << 64, machine.state.l2bm.shape, dtype=np.uint64)
    return machine, rng


def grid(rows):
    """`[row][tile][L1B][MAB][PE]`."""
    return rows.reshape(-1, 8, 8, 16, 4)


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("name", DOWN)
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("address", [0, 128, 8064, 8188])
def test_down(name, two, address, engine):
    if name == "l1bmd" and (two or address == 8188):
        pytest.skip("no such form")
    machine, _ = chip(engine)
    run(machine, f"{name} ${'ll' if two else 'l'}b{address} ${'ll' if two else 'l'}m0v")
    got, source = grid(fetch(machine, LM0, 8 if two else 4)), machine.state.l1bm
    for w in range(2 if two else 1):
        for c, m, p in np.ndindex(4, 16, 4):
            row = 2 * c + w if two else c
            index = (address + DOWN[name](two, w, c, m, p)) % 8192
            assert (got[row, :, :, m, p] == source[:, :, index]).all()


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("shift", [-15, -3, 1, 15])
def test_shifted_transfers(shift, engine):
    machine, rng = chip(engine)
    run(machine, f"l1bmd{shift:+d} $lb64 $lm0v")
    got = grid(fetch(machine, LM0, 4))
    for c, m, p in np.ndindex(4, 16, 4):
        index = 64 + 64 * c + 4 * ((m - shift) % 16) + p
        assert (got[c, :, :, m, p] == machine.state.l1bm[:, :, index]).all()
    data = random_words(rng, 4, "l")
    fill(machine, LM0, data)
    run(machine, f"l1bmd{shift:+d} $lm0v $lb512")
    for c, m, p in np.ndindex(4, 16, 4):
        index = 512 + 64 * c + 4 * ((m + shift) % 16) + p
        assert (machine.state.l1bm[:, :, index] == grid(data)[c, :, :, m, p]).all()


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize(("name", "select"), [("l1bmm", 5), ("l1bmm4", 2), ("l1bmd", None)])
@pytest.mark.parametrize("two", [False, True])
@pytest.mark.parametrize("target", ["b128", "b8128", "bi"])
def test_up(name, select, two, target, engine):
    if name == "l1bmd" and two:
        pytest.skip("no such form")
    machine, rng = chip(engine)
    data, before = random_words(rng, 8, "l"), machine.state.l1bm.copy()
    fill(machine, LM0, data)
    letters = "ll" if two else "l"
    where = "" if select is None else f"@{select}"
    run(machine, f"{name}{where} ${letters}m0v ${letters}{target}")
    for w, c, m, p in np.ndindex(2 if two else 1, 4, 16, 4):
        if (name == "l1bmm" and m != select) or (name == "l1bmm4" and m % 4 != select):
            continue
        offset = DOWN[name](two, w, c, m, p)
        want = grid(data)[2 * c + w if two else c, :, :, m, p]
        assert (machine.state.turn[:, :, offset] == want).all()
        if target != "bi":
            assert (machine.state.l1bm[:, :, (int(target[1:]) + offset) % 8192] == want).all()
    if target == "bi":
        assert (machine.state.l1bm == before).all()


def half_lane(lane):
    singles = [convert(bits, HALF, SINGLE) for bits in lane]
    level = [reduction.float_sum([singles[i] for i in group], SINGLE, SINGLE) for group in FOURS]
    return reduction.float_sum(level, SINGLE, HALF)


@pytest.mark.parametrize("engine", AVAILABLE)
def test_mixed_precision_sums(engine):
    machine, rng = chip(engine, 4)
    singles, halves = random_words(rng, 4, "f", 4), random_words(rng, 4, "h", 4)
    fill(machine, LM0, singles)
    fill(machine, LM0, halves, 8)
    run(machine, "l1bmrffaddr $lm0v $lb0\nl1bmrffadd $lm16ve $lb64\nl1bmrffaddr $lm16ve $lb128")
    for c, p in np.ndindex(4, 4):
        pair = elements(grid(singles)[c, 1, 1, :, p], 32).T.tolist()
        level = [[reduction.float_sum([lane[i] for i in g], SINGLE, SINGLE) for g in FOURS] for lane in pair]
        a, b = (reduction.float_sum(lane, SINGLE, HALF) for lane in level)
        assert int(machine.state.l1bm[1, 1, 4 * c + p]) == a << 48 | b << 32
        lanes = elements(grid(halves)[c, 1, 1, :, p], 16).T.tolist()[:2]
        wide = [[convert(bits, HALF, SINGLE) for bits in lane] for lane in lanes]
        level = [[reduction.float_sum([lane[i] for i in g], SINGLE, SINGLE) for g in FOURS] for lane in wide]
        a, b = (reduction.float_sum(lane, SINGLE, SINGLE) for lane in level)
        assert int(machine.state.l1bm[1, 1, 64 + 4 * c + p]) == a << 32 | b
        assert int(machine.state.l1bm[1, 1, 128 + 4 * c + p]) >> 32 == half_lane(lanes[0]) << 16 | half_lane(lanes[1])


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduction_over_some_l1bs(op, engine):
    """L1Bs outside of the set count as the neutral element (isa.md 13.1)."""
    machine, rng = chip(engine, 5)
    machine.state.l1bm[:, :, :64] = random_words(rng, 1, op[0], 6).reshape(8, 8, 64)
    run(machine, f"l2bmr{op}@2/5 $lb0 $lc64")
    bits, members = BITS[op[0]], [2, 3, 6, 7]
    for tile, lw in np.ndindex(8, 64):
        lanes = elements(machine.state.l1bm[tile, :, lw], bits).T.tolist()
        given = [[v if b in members else None for b, v in enumerate(lane)] for lane in lanes]
        parts = [reduction.tree(OPERATORS[op[1:]], lane, bits, [[0, 1, 2, 3], [4, 5, 6, 7]]) for lane in given]
        want = sum(part << s for part, s in zip(parts, range(64 - bits, -1, -bits), strict=True))
        assert int(machine.state.l2bm[tile, 64 + lw]) == want


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize(("c", "b"), [(0, 0), (64, 32), (32704, 8160)])
def test_l2bm_transfers(c, b, engine):
    machine, _ = chip(engine, 6)
    l1, l2 = machine.state.l1bm.copy(), machine.state.l2bm.copy()
    cycle, i16, i8 = np.arange(64) // 16, np.arange(64) % 16, np.arange(32)

    def at1(offset):
        return (b + offset) % 8192

    def at2(offset):
        return (c + offset) % 32768

    run(machine, f"l2bmb@4/3 $lc{c} $lb{b}")
    assert (machine.state.l1bm[:, 4:, at1(np.arange(64))] == l2[:, None, at2(np.arange(64))]).all()
    assert (machine.state.l1bm[:, :4] == l1[:, :4]).all()
    run(machine, f"l2bmb2 $lc{c} $lb{b}")
    for x in range(8):
        want = l2[:, at2(64 * cycle + 16 * (x >> 1) + i16)]
        assert (machine.state.l1bm[:, x][:, at1(16 * cycle + i16)] == want).all()
    run(machine, f"l2bmd $lc{c} $lb{b}")
    for x in range(8):
        want = l2[:, at2(64 * (i8 // 8) + 8 * x + i8 % 8)]
        assert (machine.state.l1bm[:, x][:, at1(i8)] == want).all()
    before = machine.state.l1bm.copy()
    run(machine, f"l2bm@5 $lb{b} $lc{c}")
    assert (machine.state.l2bm[:, at2(np.arange(64))] == before[:, 5][:, at1(np.arange(64))]).all()
    run(machine, f"l2bmd $lb{b} $lc{c}")
    for x in range(8):
        assert (machine.state.l2bm[:, at2(64 * (i8 // 8) + 8 * x + i8 % 8)] == before[:, x][:, at1(i8)]).all()
    run(machine, f"l2bmi@2/1 $lb{b} $lb128")
    for x in range(8):
        assert (machine.state.l1bm[:, x, 128:192] == before[:, 2 + x % 2][:, at1(np.arange(64))]).all()


@pytest.mark.parametrize("engine", AVAILABLE)
def test_turnaround_pipeline(engine):
    machine, rng = chip(engine, 7)
    data = random_words(rng, 8, "l")
    fill(machine, LM0, data)
    run(machine, "l1bmd $lm0v $lbi\nl1bmd $lm8v $lbi; l1bmd $lbi $ln0v\nl1bmd $lbi $ln8v\nlpassa $ln0v4 $lm0v4")
    from tests.emulator.chip import LM1

    assert (fetch(machine, LM1, 8) == data).all()
