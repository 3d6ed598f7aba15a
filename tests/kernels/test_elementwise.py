"""The operator table and the constants it needs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfcomp.emulator import Machine
from pfcomp.isa import parse
from pfcomp.kernels.elementwise import immediate
from pfcomp.kernels.table import ELEMENTWISE


def test_the_table_is_sorted_and_names_agree() -> None:
    assert list(ELEMENTWISE) == sorted(ELEMENTWISE)
    assert all(name == op.name for name, op in ELEMENTWISE.items())


@pytest.mark.parametrize(
    ("bits", "text"), [(0, "zero"), (0x40000000, 'imm f"2.0"'), (0x7FFFFFFF, 'imm ui"0x7fffffff"'), (1, 'imm ui"0x1"')]
)
def test_readable_constants(bits: int, text: str) -> None:
    assert immediate(bits) == text


@given(st.lists(st.integers(0, 2**32 - 1), min_size=1, max_size=40))
def test_constants_are_exact(patterns: list[int]) -> None:
    machine = Machine()
    lines = [f"{immediate(bits)} $ln{2 * i}" for i, bits in enumerate(patterns)]
    gets = [f"d get $ln{2 * i}n0c0b0m0p0 1" for i in range(len(patterns))]
    dump = machine.run(machine.load(parse("\n".join(lines + gets)))).dump
    for bits, line in zip(patterns, dump, strict=True):
        expected = np.uint64(bits << 32 | bits)
        assert f"v:0x{expected:X})" in line
