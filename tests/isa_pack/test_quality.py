"""How long packed programs are: near the bound of the busiest unit, and no nop without need."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.isa.check import check
from pfcomp.isa.model import Move, Program, Step
from pfcomp.isa.pack import Builder, pack
from tests.isa_pack.random_micro import RandomMicro
from tests.isa_pack.recipes import Chain

# Steps per vector of eight singles: MAU operations of the recipe, and what the packer reaches for 128 vectors with
# all constants in registers. exp, log and sigmoid are bound by register read ports.
RECIPES = {"exp": (10, 12.1), "recip": (5, 5.2), "sqrt": (8, 8.4), "log": (16, 17.5), "sigmoid": (16, 18.8)}


@pytest.mark.parametrize("name", RECIPES)
def test_steps_of_chains(name):
    operations, reached = RECIPES[name]
    stats = pack(Chain().program(name, 128)).stats
    assert stats.bound == operations * 128
    assert stats.steps <= reached * 128


def streamed_add(vectors=128, chunks=8):
    """Adding two values of `vectors` vectors per PE: DRAM to LM and back through L2BM and L1BM, in chunks."""
    b, per, l1bm = Builder(), vectors // chunks, 0

    def buffer():
        nonlocal l1bm
        l1bm = (l1bm + 256) % 8192
        return l1bm

    for c in range(chunks):
        bases = (c % 2 * 16384, 8192 + c % 2 * 16384)
        for base, dram in zip(bases, (0, 1 << 20), strict=True):
            for half in (0, 1):
                words = per * 512
                b.move(f"mvp/n{words} $d{dram + (2 * c + half) * words} $lc{base}@.{half}")
        for v in range(c * per, (c + 1) * per):
            for base, local in zip(bases, ("m", "n"), strict=True):
                at = buffer()
                for k in range(8):
                    b.op("l2bmd", f"$lc{base + (8 * v + k) % 32 * 256}", to=f"$lb{at + 32 * k}")
                b.op("l1bmd", f"$lb{at}", to=f"$l{local}{8 * v}v")
            b.op("fvadd", f"$lm{8 * v}v", f"$ln{8 * v}v", to=f"$lm{8 * v}v")
    for c in range(chunks):
        base = c % 4 * 8192
        for v in range(c * per, (c + 1) * per):
            at = buffer()
            b.op("l1bmd", f"$lm{8 * v}v", to=f"$lb{at}")
            for k in range(8):
                b.op("l2bmd", f"$lb{at + 32 * k}", to=f"$lc{base + (8 * v + k) % 32 * 256}")
        for half in (0, 1):
            b.move(f"mvp/n{per * 512} $lc{base}@.{half} $d{(2 << 20) + (2 * c + half) * per * 512}")
    return b.finish()


def test_streamed_add_is_bound_by_the_l2bm():
    packed = pack(streamed_add())
    stats = packed.stats
    assert stats.critical == "l2bm"
    assert stats.bound == 3072
    assert stats.steps <= 1.01 * stats.bound
    assert stats.computing == 128
    assert stats.both >= 127
    assert stats.moving > 3070
    assert stats.expressions_per_step == stats.counts.ops / stats.steps
    assert dict(stats.as_pairs())["ops_l1bm"] == 384


def test_independent_vectors_overlap():
    """relu((x + y)·z) + w with operands in both LMs: the MAU works in nearly every step."""
    b = Builder()
    zero = b.op("zero")
    for v in range(64):
        t = b.op("fvadd", f"$lm{8 * v}v", f"$ln{8 * v}v")
        t = b.op("fvmul", t, f"$lm{1024 + 8 * v}v")
        t = b.op("fmax", t, zero)
        b.op("fvadd", t, f"$ln{1024 + 8 * v}v", to=f"$lm{2048 + 8 * v}v")
    stats = pack(b.finish()).stats
    assert stats.bound == 192
    assert stats.steps <= 1.08 * stats.bound


def test_local_memory_is_written_in_bursts():
    """x + y in place and a clamp: reads and writes of LM0 alternate, two idle steps after each write if one by one."""
    b = Builder()
    zero = b.op("zero")
    for v in range(64):
        b.op("fmax", b.op("fvadd", f"$lm{8 * v}v", f"$ln{8 * v}v"), zero, to=f"$lm{8 * v}v")
    stats = pack(b.finish()).stats
    assert stats.steps <= 2.2 * 64


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_no_nop_can_go(seed):
    """Leaving out any nop breaks a rule, or moves an MV into a step where it was not ready."""
    packed = pack(RandomMicro(seed, 50, ("pe", "l1bm", "l2bm", "mask")).micro)
    statements = packed.program.statements
    for index, statement in enumerate(statements):
        if isinstance(statement, Step) and statement.is_nop and not statement.waits:
            fewer = replace(statement, repeat=statement.repeat - 1) if statement.repeat > 1 else None
            rest = (*statements[:index], *([fewer] if fewer else []), *statements[index + 1 :])
            errors = [f for f in check(Program(rest)) if f.severity == "error"]
            assert errors, (index, statement)


def test_moves_start_early_and_waits_come_late():
    packed = pack(streamed_add(32, 2))
    time, issued, waits = 0, {}, []
    for index, statement in enumerate(packed.program.statements):
        if isinstance(statement, Move):
            issued[packed.move_origins[index]] = time
        elif isinstance(statement, Step):
            waits += [time] * len(statement.waits)
            time += statement.repeat
    loads = [issued[k] for k in range(8)]
    assert loads == sorted(loads)
    assert loads[-1] <= 28  # one in four steps, although half of them are needed hundreds of steps later
    assert len(waits) == len(issued) == 12
    assert waits[:2] == [0, 1]  # x and y of the first vector
    assert 250 < waits[4] < 270  # the second chunk
    assert waits[-4:] == [time - 4, time - 3, time - 2, time - 1]
