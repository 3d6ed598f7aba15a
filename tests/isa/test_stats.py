"""Counts of programs."""

from __future__ import annotations

from pfcomp.isa import parse
from pfcomp.isa.stats import statistics, stats_lines

TEXT = """
mvp/n64i01 $p0@0 $d0@0
nop/3; wait i01
linc $lm0 $ln0; fvadd $lr0 $ls0 $t
linc $lm0 $ln0; l1bmm $lbi $lr0v
noforward
mvrlbor/n128 $lc0 $p0@0
mvrlbor/n64 $lc0 $p0@0
d get $lm0 1
"""


def test_counts():
    stats = statistics(parse(TEXT))
    assert (stats.steps, stats.nops, stats.ops, stats.moves, stats.waits) == (6, 4, 4, 3, 1)
    assert stats.mnemonics == {"linc": 2, "fvadd": 1, "l1bmm": 1}
    assert stats.moved == {"mvp": 64, "mvrlbor": 192}
    assert stats.units["alu"] == 2
    assert stats.units["l1bm-turnaround"] == 1
    assert stats.utilisation("alu") == 2 / 6
    assert stats.to_json()["cycles"] == 24
    assert stats.to_json()["units"]["alu"] == {"ops": 2, "utilisation": 0.333333}


def test_lines():
    lines = stats_lines(statistics(parse(TEXT)), most=2)
    assert lines[0] == "steps      6 (24 cycles), 4 without operation, 1 waits"
    assert "  alu                    2   33.3%" in lines
    assert "  and 1 more" in lines
    assert lines[-1] == "  mvrlbor              192 long words"


def test_empty_program():
    stats = statistics(parse(""))
    assert stats.utilisation("alu") == 0.0
    assert stats.to_json()["ops_per_step"] == 0.0
    assert stats_lines(stats) == [
        "steps      0 (0 cycles), 0 without operation, 0 waits",
        "operations 0",
        "moves      0",
    ]
