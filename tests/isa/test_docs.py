"""The checked-in pages are what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from pfcomp.isa.docs import main, pages
from pfcomp.isa.tables import MNEMONICS, OPS, PLACES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("name", pages())
def test_page_is_current(name):
    assert (DOCS / name).read_text() == pages()[name], "run python -m pfcomp.isa.docs"


def test_pages_are_written(tmp_path):
    main([str(tmp_path)])
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == pages()


def test_every_operation_and_place_is_on_the_page():
    page = pages()["isa.md"]
    for head, mnemonic in MNEMONICS.items():
        if not mnemonic.info.reduction and not mnemonic.info.aliases and "r" + mnemonic.half_select != head[-2:]:
            assert f"`{head}`" in page
    assert all(f"`{info.name}" in page for info in OPS.values() if info.reduction)
    assert all(info.title in page for info in PLACES.values())
