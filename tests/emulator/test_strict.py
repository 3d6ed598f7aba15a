"""Strict mode names reads of unwritten places, stale paths and misaligned run-time addresses."""

import pytest

from pfcomp.emulator import Machine
from tests.emulator.chip import run


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("lpassa $lm8v $ln0v", "line 1: LM0 words [8, 10, 12, 14] are read but were never written"),
        ("fvadd $lr0 $ls4 $lm0", "line 1: GRF0 words [0] are read but were never written"),
        ("lpassa $t $lm0v", "line 1: T is read but was never written"),
        ("l1bmd $lb64 $lm0v", "line 1: L1BM LW 64+256 is read but was never written"),
        ("l2bmd $lc0 $lb0", "line 1: L2BM LW 0+256 is read but was never written"),
        ("l2bmd $lb32 $lc0", "line 1: L1BM LW 32+32 is read but was never written"),
        ("mvp/n64 $d64@1 $p0@0", "line 1: DRAM of group 1, LW 64+64, is read but was never written"),
        ("mvp/n64 $lc0@0.1 $p0@0", "line 1: L2BM 1 LW 0+64 is read but was never written"),
        ('imm i"1" $t\nlpassa $lmt0v $ln0v', "a run-time address is not aligned to the access width"),
        ('imm i"2" $t\nlpassa $lmt0v $ln0v', "per-PE addresses read words that were never written"),
        ("zero $lr0\nzero $ls0\nfvpassa $lr0 $ln0\nlpassa $aluf $ln0", "line 4: $aluf is stale"),
    ],
)
def test_finding(text, finding):
    result = run(Machine(strict=True), text)
    assert any(finding in found for found in result.findings), result.findings


CLEAN = """
d set $lm0 8 0000000000000001000000000000000200000000000000030000000000000004\
0000000000000001000000000000000200000000000000030000000000000004
zero $lr0v
nop/2
lpassa $lm0v $ln0v
nop/3
noforward; lpassa $lr0v $ls0v
linc $aluf $nowrite
linc $aluf $ln8v
l1bmd $ln0v $lb0
l2bmd $lb0 $lc0
mvp/n256 $lc0 $d0
mvp/n256 $d0 $lc256@.0
l2bmb $lc0 $lb32
l1bmp $lb32 $lr8v
"""


def test_clean_program_has_no_findings():
    text = CLEAN.replace("mvp/n256 $d0 $lc256@.0\n", "").replace("l2bmb $lc0 $lb32\n", "l2bmd $lb0 $lc64\n")
    text = text.replace("l1bmp $lb32 $lr8v", "l1bmp $lb0 $lr8v")
    assert run(Machine(strict=True), text).findings == ()


def test_findings_are_reported_once_and_per_run():
    machine = Machine(strict=True)
    executable = "lpassa $lm8v $ln0v\n" * 2
    assert len(run(machine, executable).findings) == 2
    assert len(run(machine, "lpassa $ln0v $lr0v").findings) == 0
    machine.reset()
    assert len(run(machine, "lpassa $ln0v $lr0v").findings) == 1


def test_host_writes_count():
    machine = Machine(strict=True)
    machine.dram.fill(1, 64, 64, 5)
    assert run(machine, "mvp/n64 $d64@1 $p0@0").findings == ()
