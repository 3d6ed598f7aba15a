"""The examples of docs/relayout.md run as printed."""

import doctest
import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "relayout.md"


def test_examples_of_the_page():
    text = "\n".join(re.findall(r"```pycon\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL))
    example = doctest.DocTestParser().get_doctest(text, {}, "relayout.md", str(DOCS), 0)
    assert len(example.examples) > 7
    report = []
    runner = doctest.DocTestRunner()
    runner.run(example, out=report.append)
    assert runner.failures == 0, "".join(report)
