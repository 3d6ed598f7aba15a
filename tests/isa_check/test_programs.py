"""The checker on whole programs: published vectors, anything the parser accepts, large programs."""

import json
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from pfcomp.isa import parse
from pfcomp.isa.check import RULES, check
from tests.isa.strategies import programs

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "isa_vectors.json").read_text())["vectors"]
# Vectors have no nops where the chip would need them, and do not wait for MVs; this is all that may show.
EXPECTED = {"14.end", "3.wrap", "12.manual", "H1"}


def test_all_vectors_can_be_checked():
    found = {f.rule for vector in VECTORS for f in check(parse("\n".join(vector["program"])))}
    assert found <= EXPECTED


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_never_raises(program):
    for finding in check(program):
        assert finding.rule in RULES
        assert finding.text
        assert 0 <= finding.index < len(program.statements)


def test_default_masks_count():
    """`mask` puts the entry on every write of a memory: as a mask read and as disabled cycles."""
    assert check(parse("maskr 24\nlpassa $lm0v $lr0v\nlpassa $lr2v $ln0v")) == ()
    two = check(parse("maskr 1\nlpassa $lm0v $lr0v; fvpassa $lm0v $ls0v/$imr2"))
    assert [f.rule for f in two] == ["16.5"]
    assert check(parse("maskr 1\nmask 0\nlpassa $lm0v $lr0v; fvpassa $lm0v $ls0v/$imr2")) == ()


def test_lines_and_indices():
    text = "# comment\nlpassa $lm0v $lr0v\n\nlpassa $lr0v $ln0v   # too early\nmvp/n64i01 $d0 $lc0@.0\n"
    findings = check(parse(text))
    assert [(f.rule, f.line, f.index) for f in findings] == [("H1", 4, 1), ("14.end", 5, 2)]
    assert findings[0].describe("a.vsm").startswith("a.vsm:4: error H1: lpassa $lr0v $ln0v: ")


def test_memory_wraps_in_hazards():
    """`$lr508v4` reaches the words 508, 0, 4, 8."""
    findings = check(parse("lpassa $lm0v $lr508v4\nlpassa $lr0v4 $ln0v"))
    assert [f.rule for f in findings] == ["3.wrap", "H1"]


@pytest.mark.parametrize("waited", [True, False])
def test_linear_time(waited):
    lines = []
    for i in range(5000):
        lines.append(
            f"fvfma $lm{8 * (i % 500)}v $lr{8 * (i % 32)}v $mauf $nowrite; iadd $ls{8 * (i % 30)}v $aluf "
            f"$ls{8 * ((i + 3) % 30)}v; l1bmd $lb{256 * (i % 30)} $ln{8 * (i % 500)}v; "
            f"l2bmd $lc{256 * (i % 100)} $lb{32 * (i * 7 % 200)}"
        )
        if i % 4 == 0:
            lines.append(f"mvp/n64i{1 + i % 255:02x} $d{64 * i}@0 $lc{64 * (i % 400)}@0.1")
        if waited and i % 4 == 3:
            lines.append(f"nop; wait i{1 + (i - 3) % 255:02x}")
    program = parse("\n".join(lines))
    start = time.process_time()
    assert check(program)
    assert time.process_time() - start < 15  # about 1 s on an idle machine, for 20,000 operations
