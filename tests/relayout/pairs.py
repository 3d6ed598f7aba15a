"""Random pairs of layouts that exchange digits, and the check of a plan on the emulator."""

from __future__ import annotations

from math import prod

import numpy as np
from hypothesis import strategies as st

from pfcomp.errors import SourceError
from pfcomp.ir.model import LM_WORDS, DType, Location, MNValue
from pfcomp.layout import Layout, Level, Subaxis, extent, verify
from pfcomp.layout.extents import padded_shape
from pfcomp.relayout.api import Form, MovePlan
from tests.kernels.harness import held, run_kernel

LIMITS = {Level.L2B: 8, Level.L1B: 8, Level.MAB: 16, Level.PE: 4, Level.W: 2}


def check(source: Form, target: Form, plan: MovePlan, locations=(Location.LM0, Location.LM1), bases=(0, 0)) -> int:
    """Runs the plan on elements that are their own indices; returns the steps it took."""
    dtype = {32: DType.INT, 64: DType.LONG}[source.bits]
    here = held("x", source.shape, source.layout, locations[0], bases[0], dtype)
    there = held("y", target.shape, target.layout, locations[1], bases[1], dtype)
    free = {Location.LM0: 0, Location.LM1: 0}
    for value in (here, there):
        free[value.location] = max(free[value.location], value.address + value.size)
    if locations[0] is locations[1]:
        there = held("y", target.shape, target.layout, locations[1], free[locations[0]], dtype)
        free[locations[1]] += there.size
    scratch = []
    for number, need in enumerate(plan.scratch):
        location = need.location or Location.LM1
        layout = Layout(((Subaxis(need.words),),))
        scratch.append(MNValue(f"s{number}", (1,), dtype, layout, location, free[location], need.words))
        free[location] += need.words
    assert max(free.values()) <= LM_WORDS
    array = np.arange(prod(source.shape)).reshape(source.shape) + 1
    ran = run_kernel(lambda c: plan.emit(c, here, there, scratch, ()), [(here, array)], [there])
    np.testing.assert_array_equal(ran.values["y"], array)
    return ran.steps


@st.composite
def digit_pairs(draw, bits=32, most_words=64, levels=tuple(LIMITS)):
    """(source, target): the same digits at random places, some padded; all fit in a local memory."""
    sizes = draw(st.lists(st.sampled_from([2, 2, 2, 2, 4, 8, 3, 5]), min_size=1, max_size=7))
    axes = draw(st.integers(1, 3))
    owner = [draw(st.integers(0, axes - 1)) for _ in sizes]
    layouts = [_layout(draw, sizes, owner, axes, bits, levels) for _ in range(2)]
    shape = tuple(n - draw(st.integers(0, (n - 1) // 3)) for n in padded_shape(layouts[0]))
    forms = tuple(Form(shape, bits, layout) for layout in layouts)
    for form in forms:
        assert _accepted(form)
    return forms if all(extent(form.layout, Level.ADDR) <= most_words for form in forms) else None


def _accepted(form: Form) -> bool:
    try:
        verify(form.layout, form.shape, form.bits)
    except SourceError:
        return False
    return True


def _layout(draw, sizes, owner, axes, bits, levels):
    """Digits at random places: on a level while it has room, else in the address with random gaps."""
    used = dict.fromkeys(LIMITS, 1)
    stride, digits = 1, []
    for size in draw(st.permutations(range(len(sizes)))):
        level = draw(st.sampled_from([*levels, Level.ADDR]))
        room = LIMITS.get(level, 0) if level is not Level.W or bits == 32 else 0
        width = 1 << (sizes[size] - 1).bit_length()
        skip = draw(st.sampled_from([1, 1, 2]))
        if level is not Level.ADDR and used[level] * skip * width <= room:
            digits.append((size, Subaxis(sizes[size], level, used[level] * skip)))
            used[level] *= skip * width
        else:
            stride *= draw(st.sampled_from([1, 1, 1, 2, 3]))
            digits.append((size, Subaxis(sizes[size], Level.ADDR, stride)))
            stride *= sizes[size]
    placed = dict(digits)
    return Layout(tuple(tuple(placed[k] for k in range(len(sizes)) if owner[k] == axis) for axis in range(axes)))


@st.composite
def layouts_of(draw, shape, bits):
    """Any layout of a shape: every axis cut into digits of its own, which lie anywhere."""
    sizes, owner = [], []
    for axis, length in enumerate(shape):
        left = length
        while left > 1:
            size = min(left, draw(st.sampled_from([2, 2, 3, 4, 5, 7, 8, 16])))
            sizes.append(size)
            owner.append(axis)
            left = -(-left // size)
    return _layout(draw, sizes, owner, len(shape), bits, tuple(LIMITS))
