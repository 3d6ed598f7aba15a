"""Cycles: steps cost four, waits stall for transfers, transfers share ports."""

from __future__ import annotations

import pytest

from pfcomp.isa import parse
from pfcomp.simulate.bandwidth import ISSUE_INTERVAL, LATENCY, duration
from pfcomp.simulate.timing import walk


def cycles(text: str) -> int:
    return walk(parse(text)).cycles


def test_a_step_is_four_cycles() -> None:
    assert cycles("nop/5\nfvadd $lm0v $ln0v $lr0v") == 24


def test_a_wait_stalls_until_the_transfer_is_done() -> None:
    timing = walk(parse("mvp/n640i01 $d0 $lc0@.0\nnop; wait i01\nnop"))
    assert timing.stalls == LATENCY + 640 // 8
    assert timing.cycles == timing.stalls + 8


def test_work_hides_a_transfer() -> None:
    assert walk(parse("mvp/n64i01 $d0 $lc0@.0\nnop/100\nnop; wait i01")).stalls == 0


def test_transfers_share_the_dram_port_but_not_their_latency() -> None:
    one = "mvp/n6400i01 $d0 $lc0@.0\n"
    two = one + "mvp/n6400i02 $d6400 $lc0@.1\n"
    assert cycles(two) == cycles(one) + 800


def test_issue_is_limited() -> None:
    spans = walk(parse("mvp/n64i01 $p0 $lc0@.0\nmvp/n64i02 $d0 $lc0@.1")).spans
    assert spans[1].begin - spans[0].begin == ISSUE_INTERVAL


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        ("mvp/n640 $d0 $lc0@.0", 80),
        ("mvp/n640 $p0@0 $lc0@0.0", 40),
        ("mvb4/n640 $d0 $lc0", 40),
        ("mvrdfadd/n640 $lc0 $d0", 20),
    ],
)
def test_bandwidth_of_the_modes(move: str, expected: int) -> None:
    (statement,) = parse(move).statements
    assert duration(statement) == expected
