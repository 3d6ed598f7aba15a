"""MV transfers against the element formulas of isa.md 14.2."""

import numpy as np
import pytest

from pfcomp.emulator import Machine
from pfcomp.errors import SourceError
from pfcomp.isa import parse
from pfcomp.isa.model import Address, Move, Operand, Place, Program
from tests.emulator.chip import AVAILABLE, run

SIZE = 256
I = np.arange(SIZE)  # noqa: E741
K, Q, O = I // 64, I // 16 % 4, I % 16  # noqa: E741
TOP = {"d": 536870912, "p": 524288, "c": 32768}


class Chip:
    def __init__(self, engine):
        self.machine, self.rng = Machine(engine), np.random.default_rng(9)

    def fill(self, place, address):
        """Random long words in all units of a memory; returns `[unit][SIZE]`."""
        units = 8 if place == "c" else 4
        data = self.rng.integers(0, 1 << 64, (units, SIZE), dtype=np.uint64)
        for unit in range(units):
            if place == "c":
                self.machine.state.l2bm[unit, (address + I) % TOP["c"]] = data[unit]
            else:
                self.memory(place).write(unit, address, data[unit])
        return data

    def memory(self, place):
        return self.machine.dram if place == "d" else self.machine.pdm

    def read(self, place, unit, address, count=SIZE):
        if place == "c":
            return self.machine.state.l2bm[unit, (address + np.arange(count)) % TOP["c"]]
        return self.memory(place).read(unit, address, count)


@pytest.fixture(params=AVAILABLE)
def chip(request):
    return Chip(request.param)


@pytest.mark.parametrize("ends", [("p0@0", "p512@2"), ("p64@0", "d1024@3"), ("d64@1", "p0@2"), ("p0@0", "c64@1.1"),
                                  ("c0@3.0", "p0@1"), ("d0@2", "c32700@0.1"), ("c0@1.0", "d536870848@3")])  # fmt: skip
def test_single_copies(chip, ends):
    (source, a, unit), (target, b, other) = (split(end) for end in ends)
    data = chip.fill(source, a)
    texts = [end.replace("c", "lc") for end in ends]
    run(chip.machine, f"mvp/n{SIZE} ${texts[0]} ${texts[1]}")
    assert (chip.read(target, other, b) == data[unit]).all()


def split(end):
    place, rest = end[0], end[1:]
    address, ids = rest.split("@")
    if place != "c":
        return place, int(address), int(ids)
    n, c = ids.split(".")
    return place, int(address), 2 * int(n) + int(c)


@pytest.mark.parametrize(("source", "target"), [("p", "c"), ("d", "c"), ("c", "d"), ("c", "p"), ("d", "p"), ("p", "d")])
@pytest.mark.parametrize("c", [0, 1])
def test_copies_in_every_group(chip, source, target, c):
    data = chip.fill(source, 64)
    text = {"c": f"$lc64@.{c}", "d": "$d64", "p": "$p64"}
    to = {"c": f"$lc0@.{c}", "d": "$d0", "p": "$p0"}
    run(chip.machine, f"mvp/n{SIZE} {text[source]} {to[target]}")
    for g in range(4):
        want = data[2 * g + c] if source == "c" else data[g]
        assert (chip.read(target, 2 * g + c if target == "c" else g, 0) == want).all()


def test_broadcasts(chip):
    pdm, dram = chip.fill("p", 0), chip.fill("d", 0)
    run(
        chip.machine,
        f"mvb/n{SIZE} $p0@0 $lc0\nmvb/n{SIZE} $d0@2 $lc1024\nmvb2/n{SIZE} $d0 $lc2048\nmvb4/n{SIZE} $d0 $lc4096",
    )
    for unit in range(8):
        g, c = divmod(unit, 2)
        assert (chip.read("c", unit, 0) == pdm[0]).all()
        assert (chip.read("c", unit, 1024) == dram[2]).all()
        assert (chip.read("c", unit, 2048) == dram[g]).all()
        assert (chip.read("c", unit, 4096) == dram[Q, 32 * K + 16 * c + O]).all()


def test_reductions(chip):
    data = chip.fill("c", 0)
    text = [f"mvrliadd/n{SIZE} $lc0 $p0@0", f"mvrliadd/n{SIZE} $lc0 $d0", f"mvr2liadd/n{SIZE} $lc0 $d1024"]
    run(chip.machine, "\n".join([*text, f"mvr4liadd/n{SIZE} $lc0 $d2048"]))
    assert (chip.read("p", 0, 0) == data.sum(axis=0)).all()
    for i in range(SIZE):
        k, q, o = int(K[i]), int(Q[i]), int(O[i])
        assert chip.read("d", q, 16 * k + o, 1)[0] == data[:, i].sum()
        for c in range(2):
            assert chip.read("d", q, 2048 + 32 * k + 16 * c + o, 1)[0] == data[c::2, i].sum()
    for g in range(4):
        assert (chip.read("d", g, 1024) == data[2 * g] + data[2 * g + 1]).all()


def test_round_robins(chip):
    data = chip.fill("p", 0)[0]
    run(chip.machine, f"mvd/n{SIZE} $p0@0 $d64\nmvd/n{SIZE} $p0@0 $lc64")
    for i in range(SIZE):
        assert chip.read("d", int(Q[i]), 64 + 16 * int(K[i]) + int(O[i]), 1)[0] == data[i]
        k, j = i // 128, i // 16 % 8
        assert chip.read("c", j, 64 + 16 * k + i % 16, 1)[0] == data[i]
    run(chip.machine, f"mvd/n{SIZE} $d64 $p1024@0\nmvd/n{SIZE} $lc64 $p2048@0")
    assert (chip.read("p", 0, 1024) == data).all()
    assert (chip.read("p", 0, 2048) == data).all()


def test_indirect_dram(chip):
    entries = np.arange(512, dtype=np.uint64) * 7 % 512
    words = (entries[0::2] << np.uint64(32)) | entries[1::2]
    for unit in range(8):
        chip.machine.state.l2bm[unit, :256] = words
    data = chip.rng.integers(0, 1 << 64, (4, 16 * 512 + 64), dtype=np.uint64)
    for group in range(4):
        chip.machine.dram.write(group, 0, data[group])
    run(
        chip.machine,
        "l2bmdars $lc0@.1 $dar8\n" + "l2bmdarw\n" * 128 + "mvp/n64 $di12@2 $lc512@0.0\nmvp/n64nd2 $di10 $lc1024@.1",
    )
    want = np.concatenate([data[2, 16 * e : 16 * e + 16] for e in entries[4:8].astype(int)])
    assert (chip.read("c", 0, 512, 64) == want).all()
    for g in range(4):
        want = np.concatenate([data[g, 16 * e : 16 * e + 32] for e in entries[2:4].astype(int)])
        assert (chip.read("c", 2 * g + 1, 1024, 64) == want).all()


def test_indirect_write(chip):
    chip.machine.state.dar[:, :4] = [9, 3, 5, 1]
    data = chip.fill("c", 0)
    run(chip.machine, "mvp/n64 $lc0@.0 $di0")
    for g in range(4):
        for j, entry in enumerate([9, 3, 5, 1]):
            assert (chip.read("d", g, 16 * entry, 16) == data[2 * g, 16 * j : 16 * j + 16]).all()


def test_unknown_transfer_is_refused():
    move = Move("b4", 64, Operand(Place.PDM, 2, Address(0), group=0), Operand(Place.L2BM, 2, Address(0)), line=3)
    with pytest.raises(SourceError, match="PF0702: line 3: no transfer mvb4"):
        Machine().load(Program((move,)))


def test_moves_parse_without_tag():
    assert len(parse("mvp/n64 $d0 $lc0@.0").statements) == 1
