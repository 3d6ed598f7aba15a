"""Every arithmetic operation: engines against each other and against the scalar model, 10,000 or 10 million cases."""

import pytest

from tests.emulator import operations_alu as alu
from tests.emulator.chip import AVAILABLE
from tests.emulator.operations import GROUPS, OPERATIONS
from tests.emulator.operations_blocks import MIXED
from tests.emulator.operations_mau import HALF_CONVERSIONS
from tests.emulator.oracle import CI_CASES, SLOW_CASES, slow, verify


def test_names_are_distinct():
    assert len(OPERATIONS) == sum(len(group) for group in GROUPS.values())


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name):
    count = verify(OPERATIONS[name])
    assert min(count.scalar, count.engines) >= CI_CASES


@pytest.mark.slow
@pytest.mark.skipif("c" not in AVAILABLE, reason="no compiled engine")
@pytest.mark.parametrize("name", OPERATIONS)
def test_operation_long(name):
    assert slow(OPERATIONS[name]).engines >= SLOW_CASES


@pytest.mark.parametrize("case", alu.ALL_SHORT, ids=str)
def test_all_16_bit_inputs(case):
    assert verify(alu.exhaustive(*case), 1 << 16, 1 << 16).scalar == 1 << 16


@pytest.mark.parametrize("case", alu.ALL_SHIFTS, ids=str)
def test_all_16_bit_shifts(case):
    assert verify(alu.exhaustive(*case), 1 << 20, 1 << 20).scalar == 1 << 20


@pytest.mark.parametrize("operation", HALF_CONVERSIONS, ids=lambda operation: operation.name)
def test_all_half_conversions(operation):
    assert verify(operation, 1 << 16, 1 << 16).scalar == 1 << 16


@pytest.mark.parametrize("operation", MIXED, ids=lambda operation: operation.name)
def test_blocks_that_are_not_block_float(operation):
    """The numpy engine takes these to the scalar model, so it gets few of them and the C engine all."""
    verify(operation, 500, 500)
    if "c" in AVAILABLE:
        assert verify(operation, CI_CASES, CI_CASES, engines_used=("c",)).scalar >= CI_CASES
