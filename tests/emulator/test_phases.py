"""How a batch is divided into phases, and that threads change nothing."""

import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.emulator.phases import MOST_RUNS, SIZES, Phases, area, overlap
from pfcomp.emulator.runs import Run
from pfcomp.emulator.threads import THREADS_VARIABLE, thread_count, usable_cores
from pfcomp.errors import UsageError
from pfcomp.isa import parse
from pfcomp.isa.model import Program
from tests.emulator.chip import AVAILABLE
from tests.emulator.test_engines_agree import initial, parts_of
from tests.emulator.writer import REDUCTIONS, blocks, program

needs_c = pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")
DRAM, PDM = 8, 12  # memory instances of group 0


def covered(instance, address, length, repeat, step):
    starts = range(address, address + step * repeat, step) if step else [address]
    return {(start + i) % SIZES[instance] for start in starts for i in range(length)}


def test_overlap_of_areas_against_sets():
    """Never missed; where the steps are equal and nothing wraps, never claimed wrongly either."""
    rng, together = random.Random(1), 0
    for _ in range(4000):
        shapes, equal = [], rng.random() < 0.7
        step = rng.randrange(16, 65, 8)
        for _ in range(2):
            step, length = step if equal else rng.randrange(16, 65, 8), rng.randrange(1, 17)
            near_end = SIZES[PDM] - 200 if rng.random() < 0.1 else 0
            shapes.append((PDM, near_end + rng.randrange(100), length, rng.randrange(1, 6), step))
        meet = bool(covered(*shapes[0]) & covered(*shapes[1]))
        areas = [area(*shape) for shape in shapes]
        together += meet
        if meet:
            assert overlap(*areas), shapes
        elif equal and all(one.length < SIZES[PDM] for one in areas):
            assert not overlap(*areas), shapes
    assert 500 < together < 3500


def phases_of(*moves):
    phases = Phases()
    for runs in moves:
        phases.add(1, runs)
    return phases.tables()[2][:, 1].tolist()


def test_tiles_wait_only_where_they_must():
    to_dram = [Run(tile, DRAM, 0, 64 * tile, 64) for tile in range(8)]
    own = [Run(DRAM, tile, 64 * tile, 0, 64) for tile in range(8)]
    neighbours = [Run(DRAM, tile, 64 * (tile ^ 1), 0, 64) for tile in range(8)]
    interleaved = [Run(tile, DRAM, 0, 16 * tile, 16, 4, 16, 128) for tile in range(8)]
    assert phases_of(to_dram, own, to_dram) == [3]
    assert phases_of(own, own, neighbours, interleaved[:1], to_dram[3:4]) == [4, 2, 1]
    assert phases_of(to_dram, neighbours, neighbours) == [2, 2]
    assert phases_of(interleaved, [Run(PDM, tile, 0, 0, 64) for tile in range(8)]) == [2]
    assert phases_of([Run(0, 1, 0, 0, 64)], own) == [1, 1, 2]  # from L2B to L2B
    many = [[Run(PDM, 0, 64 * i, 0, 64)] for i in range(2 * MOST_RUNS)]
    assert len(phases_of(*many)) == 2


def test_tables_count_operations_and_runs():
    phases = Phases()
    phases.add(5, [])
    phases.add(0, [Run(0, DRAM, 0, 0, 64)])
    phases.add(7, [Run(DRAM, 2, 0, 0, 64)])
    runs, parts, table = phases.tables()
    assert runs[:, -1].tolist() == [0, 2]
    assert parts.tolist() == [[5, 0], [0, 1], [7, 0], [0, 1]]
    assert table.tolist() == [[0, 3, 0, 0], [3, 1, 12, 1]]


def move(rng):
    """A move between places that other moves of these programs also use."""
    d, p, c = (64 * rng.randrange(8) for _ in range(3))
    return rng.choice(
        [
            f"mvp/n64 $d{d} $lc{c}@.{rng.randrange(2)}",
            f"mvp/n64 $lc{c}@.{rng.randrange(2)} $d{d}",
            f"mvp/n64 $lc{c}@{rng.randrange(4)}.{rng.randrange(2)} $d{d}@{rng.randrange(4)}",
            f"mvp/n64 $d{d}@{rng.randrange(4)} $lc{c}@{rng.randrange(4)}.{rng.randrange(2)}",
            f"mvd/n512 $lc{c} $p{p}@0",
            f"mvd/n512 $p{p}@0 $lc{c}",
            f"mvd/n256 $p{p}@0 $d{d}",
            f"mvd/n256 $d{d} $p{p}@0",
            f"mvb/n64 $p{p}@0 $lc{c}",
            f"mvb/n64 $d{d}@{rng.randrange(4)} $lc{c}",
            f"mvp/n64 $p{p}@0 $d{d}@{rng.randrange(4)}",
            f"mvr{rng.choice(REDUCTIONS)}/n64 $lc{c} $p{p}@0",
            f"mvr{rng.choice(('', '2', '4'))}{rng.choice(REDUCTIONS)}/n64 $lc{c} $d{d}",
        ]
    )


def mixed(seed, steps):
    """Blocks of operations with moves between them; hazards do not matter to the emulator."""
    rng = random.Random(seed)
    pool, statements = blocks(seed, 300), []
    operations = [s for kind in ("light", "medium") for block in pool[kind] for s in block]
    for _ in range(steps):
        statements += rng.sample(operations, rng.randrange(1, 6))
        if rng.random() < 0.6:
            statements += parse("\n".join(move(rng) for _ in range(rng.randrange(1, 4)))).statements
    return Program(tuple(statements))


def chip(engine, threads, data):
    machine = Machine(engine, threads=threads)
    machine.state.mem[:, :4608] = data
    rng = np.random.default_rng(3)
    machine.state.l1bm[:, :, :2048] = rng.integers(0, 1 << 64, (8, 8, 2048), dtype=np.uint64)
    machine.state.l2bm[:, :4096] = rng.integers(0, 1 << 64, (8, 4096), dtype=np.uint64)
    for memory in (machine.dram, machine.pdm):
        for group in range(4):
            memory.write(group, 0, rng.integers(0, 1 << 64, 1024, dtype=np.uint64))
    return machine


def all_of(machine):
    memories = (machine.dram, machine.pdm)
    return [*parts_of(machine.state), *(m.read(group, 0, 1024) for m in memories for group in range(4))]


def assert_equal(one, two, note):
    for a, b in zip(one, two, strict=True):
        assert np.array_equal(a, b), note


@needs_c
@pytest.mark.parametrize("seed", range(4))
def test_any_number_of_threads_gives_the_state_of_the_numpy_engine(seed):
    data = initial(seed)
    generated = mixed(seed, 60)
    wanted = chip("numpy", 1, data)
    wanted.run(wanted.load(generated))
    state = all_of(wanted)
    for threads in (1, 2, 3, 8):
        machine = chip("c", threads, data)
        executable = machine.load(generated)
        machine.run(executable)
        assert_equal(state, all_of(machine), (seed, threads))
    phases = [part.phases for part in executable.batches((False, False)) if hasattr(part, "phases")]
    assert max(map(len, phases)) > 3


@needs_c
def test_legal_programs_on_threads():
    data, pool = initial(7), blocks(7, 1500)
    machines = [chip("c", threads, data) for threads in (1, 2, 3, 8)]
    for seed in range(12):
        executable = machines[0].load(program(pool, seed, 400, 3))
        for machine in machines:
            machine.run(executable)
    for machine in machines[1:]:
        assert_equal(all_of(machines[0]), all_of(machine), machine.threads)


@needs_c
def test_two_boards_at_once():
    """One has the helpers, the other goes on alone; neither sees the other."""
    data = initial(2)
    programs = [mixed(seed, 30) for seed in (11, 12)]
    alone, together = ([chip("c", threads, data) for _ in programs] for threads in (1, 4))

    def work(machine, generated):
        executable = machine.load(generated)
        for _ in range(20):
            machine.run(executable)

    for machine, generated in zip(alone, programs, strict=True):
        work(machine, generated)
    threads = [threading.Thread(target=work, args=pair) for pair in zip(together, programs, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one, two in zip(alone, together, strict=True):
        assert_equal(all_of(one), all_of(two), "boards")


FORKING = """\
import os, threading
from pfcomp.emulator import Machine
from pfcomp.isa import parse
from pfcomp.isa.model import Program

text = "\\n".join(["linc $lm0v $lm0v", "fvadd $ln0v $lm0v $ln8v"] * 200)

def total(machine):
    machine.run(machine.load(parse(text)))
    return int(machine.state.mem[:, 0].sum())

parent, other, stop = Machine("c", threads=3), Machine("c", threads=3), []
first = total(parent)

def keep_busy():
    while not stop:
        total(other)

busy = threading.Thread(target=keep_busy)
busy.start()
codes = []
for _ in range(10):  # the other thread is somewhere within a program
    child = os.fork()
    if child == 0:
        os._exit(0 if total(parent) == total(Machine("c", threads=3)) + first else 1)
    codes.append(os.waitpid(child, 0)[1])
stop.append(True)
busy.join()
print(codes == [0] * 10, total(parent) == 2 * first)
"""


@needs_c
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_hire_threads_of_their_own_and_processes_end():
    done = subprocess.run([sys.executable, "-c", FORKING], check=False, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout) == (0, "True True\n"), done.stderr


def test_number_of_threads(monkeypatch):
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    assert thread_count() == min(usable_cores(), 8) == Machine().threads
    assert [thread_count(n) for n in (1, 3, 99)] == [1, 3, 8]
    monkeypatch.setenv(THREADS_VARIABLE, "5")
    assert (thread_count(), thread_count(2), Machine("numpy").threads) == (5, 2, 5)
    monkeypatch.setenv(THREADS_VARIABLE, "auto")
    assert thread_count() == min(usable_cores(), 8)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", ""])
def test_numbers_of_threads_that_do_not_exist(monkeypatch, text):
    monkeypatch.setenv(THREADS_VARIABLE, text)
    with pytest.raises(UsageError, match=f"PF0712: {THREADS_VARIABLE}="):
        Machine()
    with pytest.raises(UsageError, match="PF0712: threads='0'"):
        Machine(threads=0)


def test_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert usable_cores() == 1
