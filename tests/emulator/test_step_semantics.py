"""All reads of a step see the state before it, masks, T and base addresses included (isa.md 4)."""

from __future__ import annotations

import pytest

from pfcomp.emulator import Machine
from pfcomp.isa import parse
from tests.emulator.chip import AVAILABLE

MASK = """\
lpassa $lm0v $omr1
imm i"5" $ln0
imm f"7.0" $ls0
lpassa $ln0 $omr1; fvpassa $ls0 $lr0/$imr1
d getf $lr0n0c0b0m0p0 1
fvpassa $ls0 $lr8/$imr1
d getf $lr8n0c0b0m0p0 1
"""

BASE = """\
imm i"4" $ls0
imm f"7.0" $ls8
ipassa $ls0 $mb; fvpassa $ls8 $lm16
zero $lmb
d getf $lm16n0c0b0m0p0 2
"""

INDIRECT = """\
imm i"4" $t
imm f"7.0" $ls8
imm i"8" $t; fvpassa $ls8 $lmt16
fvpassa $ls8 $lmt32
d getf $lm20n0c0b0m0p0 2
d getf $lm40n0c0b0m0p0 2
"""


@pytest.mark.parametrize("engine", AVAILABLE)
def test_a_write_mask_is_the_one_before_the_step(engine: str) -> None:
    before, after = _dump(engine, MASK)
    assert ":(7, 7) " in before
    assert ":(0, 0) " in after


@pytest.mark.parametrize("engine", AVAILABLE)
def test_a_base_address_counts_from_the_next_step_on(engine: str) -> None:
    here, moved = _dump(engine, BASE)
    assert ":(7, 7) " in here
    assert ":(0, 0) " in moved


def _dump(engine: str, text: str) -> list[str]:
    machine = Machine(engine=engine)
    return machine.run(machine.load(parse(text))).dump


@pytest.mark.parametrize("engine", AVAILABLE)
@pytest.mark.parametrize("operand", ["$lm0v4096", "$lm0v1"])
def test_cycles_do_not_see_each_other_where_addresses_meet(engine: str, operand: str) -> None:
    """Four cycles that wrap or truncate to one long word each add one to the old value (isa.md 3, 4)."""
    (line,) = _dump(
        engine, f"d set $lm0n0c0b0m0p0 1 0000000000000005\nlinc {operand} {operand}\nd get $lm0n0c0b0m0p0 1\n"
    )
    assert "v:0x6)" in line


@pytest.mark.parametrize("engine", AVAILABLE)
def test_t_points_where_it_did_before_the_step(engine: str) -> None:
    here, _, moved, _ = _dump(engine, INDIRECT)
    assert ":(7, 7) " in here
    assert ":(7, 7) " in moved
