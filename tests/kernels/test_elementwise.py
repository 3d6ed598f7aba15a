"""The operator table and the constants it needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfcomp.emulator import Machine
from pfcomp.isa import parse
from pfcomp.isa.model import Address, Operand, Place
from pfcomp.isa.pack import Builder, pack
from pfcomp.kernels.elementwise import VectorEmitter, immediate
from pfcomp.kernels.page import page
from pfcomp.kernels.recipes.values import Constant
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


@given(st.lists(st.integers(0, 2**64 - 1) | st.sampled_from([1, 2**32, 2**63, 2**64 - 1]), min_size=1, max_size=20))
def test_long_constants_are_exact(patterns: list[int]) -> None:
    builder = Builder()
    emitter = VectorEmitter(builder)
    for k, bits in enumerate(patterns):
        emitter.store(Constant(bits), Operand(Place.LM1, 2, Address(2 * k)))
    machine = Machine()
    gets = parse("\n".join(f"d get $ln{2 * k}n0c0b0m0p0 1" for k in range(len(patterns))))
    machine.run(machine.load(pack(builder.finish()).program))
    for bits, line in zip(patterns, machine.run(machine.load(gets)).dump, strict=True):
        assert f"v:0x{bits:X})" in line


def test_the_page_on_numerics_is_up_to_date() -> None:
    text = (Path(__file__).parents[2] / "docs" / "numerics.md").read_text(encoding="utf-8")
    assert page(text) == text
