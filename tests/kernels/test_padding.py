"""Padding: after `fill` every lane without an element holds the pattern, every element is what it was."""

import numpy as np
import pytest
from hypothesis import given, settings

from pfcomp.emulator import Machine
from pfcomp.ir.model import DType, Location, MNValue
from pfcomp.isa.pack import Builder, pack
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.padding import fill
from pfcomp.layout import Level, extent
from pfcomp.verify import local
from tests.kernels import harness
from tests.layout.strategies import valid_layouts

BITS = {DType.FLOAT: 0xFF800000, DType.LONG: 0x8000000000000001}


def fill_and_check(value: MNValue) -> int:
    """Steps of the packed program; 0 if there is nothing to fill."""
    machine = Machine()
    harness.junk(machine, 1)
    array = np.arange(1, 1 + int(np.prod(value.shape))).reshape(value.shape)
    local.write(machine, value, array)
    start = local.ROWS[value.location] + value.address
    stop = start + extent(value.layout, Level.ADDR)
    around = [*range(start - 4, start), *range(stop, stop + 4)]
    before = machine.state.mem[:, around]
    context = KernelContext(Builder())
    fill(context, value, BITS[value.dtype])
    fill(context, value, BITS[value.dtype])  # known by now
    packed = pack(context.builder.finish())
    if packed.program.steps:
        machine.run(machine.load(packed.program))
    np.testing.assert_array_equal(harness.get(machine, value), array)
    index = local.index_of(value.layout, value.shape, value.dtype.bits)
    lanes = local.elements_of(local.long_words(machine, value, index.shape[1]), value.dtype.bits)
    assert (lanes[index < 0] == BITS[value.dtype]).all()
    np.testing.assert_array_equal(machine.state.mem[:, around], before)
    return packed.program.steps


@settings(max_examples=15)
@given(valid_layouts(bits=32, extra=((Level.TIME, 1),)))
def test_words(case) -> None:
    layout, shape, _ = case
    fill_and_check(harness.held("x", shape, layout, Location.LM0, 8))


@settings(max_examples=6)
@given(valid_layouts(bits=64, extra=((Level.TIME, 1),)))
def test_long_words(case) -> None:
    layout, shape, _ = case
    fill_and_check(harness.held("x", shape, layout, Location.LM1, 4, DType.LONG))


@pytest.mark.parametrize(
    ("shape", "layout", "most"),
    [
        ((64, 16), "((8_L2B:1, 8_L1B:1), (4:1, 4_PE:1))", 0),
        ((10,), "((16:1))", 4),
        ((10,), "((10_MAB:1))", 9),
        ((64, 10), "((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", 13),
        ((60, 10), "((8_L1B:1, 8:2), (2:1, 4_PE:1, 2_W:1))", 23),
        ((100, 3), "((7_MAB:1, 16:1), (3_PE:1))", 19),
    ],
)
def test_steps(shape: tuple[int, ...], layout: str, most: int) -> None:
    assert fill_and_check(harness.held("x", shape, layout, Location.LM0, 8)) <= most


def test_one_axis_only() -> None:
    """Lanes beyond the named axis are filled, and the value does not count as filled."""
    value = harness.held("x", (5, 3), "((5:1, 2_PE:1), (4_MAB:1))", Location.LM0, 8)
    machine = Machine()
    harness.junk(machine, 1)
    array = np.arange(1, 16).reshape(5, 3)
    local.write(machine, value, array)
    before = local.long_words(machine, value, value.size).copy()
    context = KernelContext(Builder())
    fill(context, value, 0, (0,))
    assert context.padding == {}
    machine.run(machine.load(pack(context.builder.finish()).program))
    np.testing.assert_array_equal(harness.get(machine, value), array)
    after = local.long_words(machine, value, value.size)  # L2B, address, L1B, MAB, PE
    assert (after[:, 3:5] == 0).all()  # index 6 and beyond
    assert (after[:, 2, :, :, 1] == 0).all()  # index 5
    np.testing.assert_array_equal(after[:, :2], before[:, :2])
