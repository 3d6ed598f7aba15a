"""Random legal and illegal-by-hazard programs over all units: the whole state is equal on both engines."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.isa import parse
from pfcomp.isa.check import check
from tests.emulator.chip import AVAILABLE, random_words
from tests.emulator.writer import Writer, blocks, program


def prepared(engine, seed, data):
    machine = Machine(engine)
    machine.state.mem[:, :4608] = data
    rng = np.random.default_rng(seed)
    machine.state.l1bm[:, :, :2048] = rng.integers(0, 1 << 64, (8, 8, 2048), dtype=np.uint64)
    machine.state.l2bm[:, :4096] = rng.integers(0, 1 << 64, (8, 4096), dtype=np.uint64)
    return machine


def initial(seed):
    """Floats of all precisions where matrices take their operands, integers and any bits elsewhere."""
    rng = np.random.default_rng(seed)
    data = np.zeros((8, 4608, 512), np.uint64)
    for base in (0, 2048, 4096, 4352):
        for first, letter in ((0, "f"), (32, "h"), (64, "d"), (96, "l"), (128, "f"), (160, "h"), (192, "i")):
            rows = random_words(rng, 32, letter, 4)
            data[:, base + first : base + first + 32] = rows.reshape(32, 8, 512).swapaxes(0, 1)
    return data


def state_of(machine):
    state = machine.state
    visible = state.mem[:, : 4608 + 8 + 64 + 32 + 2]
    return {"mem": visible, "l1bm": state.l1bm, "turn": state.turn, "l2bm": state.l2bm}


def compare(seed, steps):
    writer = Writer(seed)
    text = "\n".join(writer.step() for _ in range(steps))
    data, program = initial(seed), parse(text)
    machines = [prepared(engine, seed, data) for engine in ("numpy", "c")]
    for machine in machines:
        machine.run(machine.load(program))
    one, two = (state_of(machine) for machine in machines)
    for name, array in one.items():
        assert np.array_equal(array, two[name]), (name, np.argwhere(array != two[name])[:3], text)


@pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")
@pytest.mark.parametrize("seed", range(6))
def test_random_programs(seed):
    compare(seed, 30)


LOW = (slice(0, 256), slice(2048, 2304))  # rows of the LM addresses that programs name
WINDOW = (*LOW, slice(4096, 4714))  # and the GRFs, T, masks, base addresses, matrices


def parts_of(state):
    return [*(state.mem[:, rows] for rows in WINDOW), state.l1bm, state.turn, state.l2bm]


def run_programs(seeds, steps, heavy):
    """Programs one after the other on both engines; what they left is compared after each, everything at the end."""
    data, pool = initial(seeds[0]), blocks(seeds[0], 3000)
    machines = [prepared(engine, seeds[0], data) for engine in ("numpy", "c")]
    for number, seed in enumerate(seeds):
        generated = program(pool, seed, steps, heavy)
        executable = machines[0].load(generated)
        for machine in machines:
            for rows in LOW if number % 4 == 0 else ():
                machine.state.mem[:, rows] = np.roll(data[:, rows], number, axis=1)
            machine.run(executable)
        for one, two in zip(*(parts_of(machine.state) for machine in machines), strict=True):
            assert np.array_equal(one, two), (seed, one.shape, np.argwhere(one != two)[:3])
        if number % 5 == 0:  # legal by construction
            assert not [f for f in check(generated) if f.severity == "error"], seed
    one, two = (state_of(machine) for machine in machines)
    assert all(np.array_equal(array, two[name]) for name, array in one.items())
    for group in range(4):
        assert np.array_equal(*(machine.dram.read(group, 0, 8192) for machine in machines))


@pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")
@pytest.mark.parametrize("first", range(0, 200, 50))
def test_legal_programs_of_a_thousand_steps(first):
    run_programs(range(first, first + 50), 1000, 1)


@pytest.mark.slow
@pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_legal_programs_with_all_operations(first):
    run_programs(range(first, first + 100), 1000, 80)


@pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")
def test_threads_give_the_same_state():
    text = "\n".join(Writer(5).step() for _ in range(60))
    data, program = initial(5), parse(text)
    machines = [prepared("c", 5, data), prepared("c", 5, data)]
    machines[1].threads = 3
    for machine in machines:
        machine.run(machine.load(program))
    one, two = (state_of(machine) for machine in machines)
    assert all(np.array_equal(array, two[name]) for name, array in one.items())
