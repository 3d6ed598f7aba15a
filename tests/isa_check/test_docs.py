"""docs/checker.md is current, and its example prints what it says."""

from pathlib import Path

from pfcomp.isa import parse
from pfcomp.isa.check import check
from pfcomp.isa.check.docs import with_table

PAGE = Path(__file__).parents[2] / "docs" / "checker.md"


def test_the_rule_table_is_current():
    page = PAGE.read_text()
    assert with_table(page) == page, "run python -m pfcomp.isa.check.docs docs/checker.md"


def test_the_example():
    (finding,) = check(parse("lpassa $lm0v $lr0v\nlpassa $lr0v $ln0v"))
    assert f"# {finding.describe('example.vsm')}\n" in PAGE.read_text()
