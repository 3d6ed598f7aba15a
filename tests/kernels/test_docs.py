"""The walk through a new operator shows lines that stand in the repository, in that order."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "adding-an-op.md"
FILES = ("pfcomp/kernels/recipes/activations.py", "pfcomp/kernels/recipes/single.py",
         "tests/kernels/test_recipes_single.py", "tests/programs/test_general.py")  # fmt: skip


def test_the_lines_of_the_page_are_real() -> None:
    blocks = re.findall(r"```diff\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in FILES]
    assert len(blocks) == 6
    for block in blocks:
        added = "".join(line.removeprefix("+") for line in block.splitlines(keepends=True))
        assert any(added in text for text in texts), added


def test_files_that_the_page_names_exist() -> None:
    named = re.findall(r"`((?:pfcomp|tests|docs)/[\w/.-]+)`", PAGE.read_text(encoding="utf-8"))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []
