"""Packed programs against the serial ones of the same micro-operations, on the emulator: all memories, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.emulator import Machine
from pfcomp.emulator.rows import BAR_ROW, MASK_ROW, MEMORIES, T_ROW
from pfcomp.isa.check import check
from pfcomp.isa.model import Place
from pfcomp.isa.pack import PackOptions, pack, serialize
from pfcomp.isa.pack.graph import Graph
from tests.isa_pack.random_micro import RandomMicro
from tests.isa_pack.recipes import Chain

PE_PLACES = (Place.LM0, Place.LM1, Place.GRF0, Place.GRF1)
FEATURES = {
    "pe": ("pe",),
    "masks": ("pe", "mask"),
    "transfers": ("pe", "l1bm", "l2bm", "mv"),
    "indirect": ("pe", "l1bm", "indirect"),
    "matrix": ("pe", "matrix", "mask"),
    "all": ("pe", "l1bm", "l2bm", "mv", "mask", "matrix", "indirect", "bar"),
}


def prepared(seed):
    """A machine with singles in its PE memories and anything elsewhere."""
    machine, rng = Machine(), np.random.default_rng(seed)
    state = machine.state
    for place in PE_PLACES:
        base = MEMORIES[place].base
        halves = rng.integers(0x3F00_0000, 0x4100_0000, (2, 8, 64, 512), dtype=np.uint64)
        state.mem[:, base : base + 64] = halves[0] << np.uint64(32) | halves[1]
    state.l1bm[:, :, :1024] = rng.integers(0, 2**63, (8, 8, 1024), dtype=np.uint64)
    state.l2bm[:, :1024] = rng.integers(0, 2**63, (8, 1024), dtype=np.uint64)
    for group in range(4):
        machine.dram.write(group, 0, rng.integers(0, 2**63, 512, dtype=np.uint64))
        machine.pdm.write(group, 0, rng.integers(0, 2**63, 512, dtype=np.uint64))
    return machine


def outcome(program, seed, physical, lm_rows=80):
    """What a program leaves behind in everything that its author can name."""
    machine = prepared(seed)
    machine.run(machine.load(program))
    mem = machine.state.mem
    result = {place: mem[:, MEMORIES[place].base : MEMORIES[place].base + lm_rows].copy() for place in PE_PLACES[:2]}
    for place in PE_PLACES[2:]:  # registers of virtual values are nobody's business
        result[place] = mem[:, [MEMORIES[place].base + word for word in sorted(physical[place])]]
    if physical[Place.T]:
        result["t"] = mem[:, T_ROW : T_ROW + 4].copy()
    result["mask"] = mem[:, MASK_ROW : MASK_ROW + 64].copy()
    result["bar"] = mem[:, sorted(BAR_ROW.values())]
    result["l1bm"], result["l2bm"] = machine.state.l1bm[:, :, :1024], machine.state.l2bm[:, :1536]
    for name, memory in (("dram", machine.dram), ("pdm", machine.pdm)):
        result[name] = np.stack([memory.read(group, 0, 768) for group in range(4)])
    return result


def compare(micro, seed, options, lm_rows=80):
    packed, serial = pack(micro, options), serialize(micro)
    assert [f for f in check(serial) if f.severity == "error"] == []
    physical = Graph(micro).physical
    got, want = (outcome(p, seed, physical, lm_rows) for p in (packed.program, serial))
    for name in want:
        np.testing.assert_array_equal(got[name], want[name], err_msg=str(name))
    assert packed.stats.steps < serial.steps


@pytest.mark.parametrize("name", FEATURES)
@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from((1, 16, 256)))
def test_random_programs(name, seed, window):
    compare(RandomMicro(seed, 60, FEATURES[name]).micro, seed, PackOptions(window))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_many_random_programs(seed):
    for name, features in FEATURES.items():
        micro = RandomMicro(f"{name}{seed}", 150, features).micro
        compare(micro, seed, PackOptions((1, 8, 64, 256)[seed % 4]))


@pytest.mark.parametrize("name", ["exp", "recip", "sqrt", "log", "sigmoid"])
@pytest.mark.parametrize("vectors", [1, 3])
def test_recipes(name, vectors):
    compare(Chain().program(name, vectors), 1, None)
