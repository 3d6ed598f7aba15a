"""The packer's edges: registers, tags, waits, determinism, errors, speed."""

import hashlib
import os
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfcomp.errors import InternalError, UnsupportedError
from pfcomp.isa import print_program
from pfcomp.isa.check.findings import Finding
from pfcomp.isa.model import Move, Place, Step
from pfcomp.isa.pack import Builder, PackOptions, pack, packer, serialize
from pfcomp.isa.pack.registers import Registers
from tests.isa_pack.random_micro import RandomMicro
from tests.isa_pack.recipes import Chain
from tests.isa_pack.test_quality import streamed_add


def tree(leaves, physical=()):
    """All leaves are loaded, then summed up in reverse order: `leaves` values are alive at once."""
    b = Builder()
    for target in physical:
        b.op("zero", to=target)
    values = [b.op("lpassa", f"$lm{8 * k}v") for k in range(leaves)]
    total = values.pop()
    while values:
        total = b.op("fvadd", values.pop(), total)
    b.op("lpassa", total, to="$ln0v")
    return b.finish()


def test_registers_are_used_to_the_last():
    assert pack(tree(120)).stats.counts.ops == 240


def test_out_of_registers():
    with pytest.raises(UnsupportedError, match="PF0151"):
        pack(tree(140))
    with pytest.raises(UnsupportedError, match="PF0151"):
        serialize(tree(70))
    with pytest.raises(UnsupportedError, match="PF0151"):
        pack(tree(120, [f"$l{m}{a}v" for m in "rs" for a in range(0, 512, 64)]))


def test_the_window_shrinks_where_registers_are_short():
    """Each group of 24 values dies before the next is needed, but the window would start many of them."""
    b = Builder()
    for group in range(20):
        values = [b.op("lpassa", f"$lm{8 * k}v", width=4) for k in range(24)]
        total = values.pop()
        while values:
            total = b.op("iadd", values.pop(), total)
        b.op("lpassa", total, to=f"$ln{8 * group}v")
    packed = pack(b.finish(), PackOptions(window=2000))
    assert packed.stats.steps < 1.15 * packed.stats.bound


def test_physical_registers_are_left_alone():
    steps = [s for s in pack(tree(100, ["$lr0v", "$ls16v"])).program.statements if isinstance(s, Step)]
    written = {Place.GRF0: [], Place.GRF1: []}
    for destination in (d for s in steps for op in s.ops for d in op.destinations):
        written.get(destination.place, []).append(destination.address.base if destination.address else None)
    assert len(written[Place.GRF0]) > 30 < len(written[Place.GRF1])
    assert [a for a in written[Place.GRF0] if a < 8] == [0]
    assert [a for a in written[Place.GRF1] if 16 <= a < 24] == [16]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.sampled_from((2, 4, 8, 16)), st.integers(0, 99)), max_size=80))
def test_register_blocks_never_overlap(steps):
    registers, blocks = Registers(Place.GRF0, [3, 4]), []
    for take, words, pick in steps:
        if take and registers.has(words):
            blocks.append((registers.take(words), words))
        elif blocks:
            registers.free(*blocks.pop(pick % len(blocks)))
        used = [w for base, size in blocks for w in range(base, base + size)]
        assert len(used) == len(set(used))
        assert not {6, 7, 8, 9} & set(used)
        assert registers.words == 508 - len(used)
        assert all(base % size == 0 for base, size in blocks)
    for block in blocks:
        registers.free(*block)
    assert registers.has(256)


def test_tags_are_recycled_after_waits():
    b = Builder()
    for k in range(600):
        b.move(f"mvp/n64 $d{64 * k} $lc{64 * (k % 512)}@.0")
    packed = pack(b.finish())
    moves = [s for s in packed.program.statements if isinstance(s, Move)]
    assert len(moves) == 600
    assert {m.tag for m in moves} == set(range(1, 256))
    assert packed.stats.counts.waits == 600
    assert [packed.move_origins[k] for k in sorted(packed.move_origins)] == list(range(600))


def test_final_waits_share_the_last_steps():
    b = Builder()
    for k in range(20):
        b.move(f"mvp/n64 $d{64 * k} $p{64 * k}")
        for j in range(8):
            b.op("linc", f"$ln{64 * k + 8 * j}v", to=f"$lr{8 * j}v")
    packed = pack(b.finish())
    assert packed.stats.steps == 160
    waits = [len(s.waits) for s in packed.program.statements if isinstance(s, Step)]
    assert waits == [0] * 140 + [1] * 20


def test_dar_transfers_wait_for_the_entries():
    b = Builder()
    b.op("l2bmdars", "$lc0@.0", to="$dar0")
    b.op("l2bmdarw")
    b.move("mvp/n64 $di0 $lc1024@.1")
    assert pack(b.finish()).stats.steps == 1 + 1 + 128 + 1


def test_turnaround_pairs_stay_together():
    b = Builder()
    for k in range(8):
        b.op("l1bmrdfadd", f"$ln{8 * k}v", to="$lbi")
        b.op("l1bmm", "$lbi", to=f"$lm{8 * k}v")
    stats = pack(b.finish()).stats
    assert stats.steps == 9


def test_base_addresses_are_barriers():
    b = Builder()
    b.op("lpassa", "$lr0v", to="$ln0v")
    b.op('imm i"8"', to="$nb")
    b.op("lpassa", "$ln0v", to="$lr0v")
    b.op("zero", to="$nb")
    lines = print_program(pack(b.finish()).program).split("\n")
    assert lines == ["lpassa $lr0v $ln0v", 'imm i"8" $nb', "nop/2", "lpassa $ln0v $lr0v", "zero $nb", ""]


def test_a_broken_program_never_leaves(monkeypatch):
    monkeypatch.setattr(packer, "check", lambda program: (Finding("H1", 0, 0, "too early"),))
    with pytest.raises(InternalError, match="PF0152"):
        pack(tree(2))


PRINT_DIGEST = """
from tests.isa_pack.test_pack import digest
print(digest())
"""


def digest():
    micros = [RandomMicro(seed, 60).micro for seed in range(4)] + [Chain().program("exp", 8), streamed_add(8, 2)]
    texts = [print_program(pack(micro).program) for micro in micros]
    return hashlib.sha256("".join(texts).encode()).hexdigest()


def test_same_bytes_for_every_hash_seed():
    for seed in ("0", "1"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        result = subprocess.run(
            [sys.executable, "-c", PRINT_DIGEST], env=environment, check=True, capture_output=True, text=True
        )
        assert result.stdout.strip() == digest()


def test_time_is_linear():
    """About 0.15 ms per operation on an idle machine; generous here."""
    start = time.process_time()
    pack(streamed_add(256, 16))
    assert time.process_time() - start < 30
