"""Addresses in DRAM, and graphs that do not fit."""

from __future__ import annotations

import pytest

from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.layout import Layout
from pfcomp.plan import dram


def value(name: str, size: int) -> MNValue:
    return MNValue(
        name, (size,), DType.LONG, Layout.parse(f"(({size}:1); B@[PE,MAB,L1B,L2B])"), Location.DRAM, size=size
    )


def test_written_values_keep_whole_stores_free() -> None:
    placed = dram.assign([value("x", 16)], [value("y", 16)], [value("s", 80)], [value("c", 16)])
    assert [(v.name, v.address) for v in placed] == [("x", 0), ("y", 16), ("s", 128), ("c", 256)]


def test_a_graph_that_does_not_fit_names_the_five_largest() -> None:
    big = [value(f"w{k}", (k + 1) << 26) for k in range(6)]
    with pytest.raises(UnsupportedError, match=r"PF0423.*largest: w5 \d+, w4 \d+, w3 \d+, w2 \d+, w1 \d+;"):
        dram.assign(big, [], [], [])
