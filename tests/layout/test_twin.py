"""Twins: 64-bit elements beside 32-bit ones, and the way back."""

from __future__ import annotations

import pytest

from pfcomp.layout import Layout
from pfcomp.layout.canonical import same
from pfcomp.layout.twin import paired, twin, widened

SPLIT = [
    "((8:1, 4_PE:1, 2_W:1))",
    "((3:4, 16_MAB:1), (4:1, 2_W:1))",
    "((2_W:1, 8_L1B:1), (5:1); B@[PE])",
    "((2_W:1); B@[MAB,L1B,L2B])",
]


@pytest.mark.parametrize("text", SPLIT)
def test_words_come_back(text: str) -> None:
    layout = Layout.parse(text)
    back = paired(twin(layout))
    assert back is not None
    assert same(back, layout)


@pytest.mark.parametrize("text", ["((3:1, 4_PE:1))", "((4_PE:1))", "((2:1, 4_PE:1), (3:3))", "((4:2))"])
def test_no_words_where_pairs_of_addresses_are_none(text: str) -> None:
    assert paired(Layout.parse(text)) is None


@pytest.mark.parametrize("text", ["((3:1, 4_PE:1))", "((8:1), (16_MAB:1))"])
def test_words_alike(text: str) -> None:
    layout = Layout.parse(text)
    assert same(twin(widened(layout)), layout)
