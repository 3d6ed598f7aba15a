"""Hypothesis strategies for layouts, shapes and dtypes."""

from hypothesis import strategies as st

from pfcomp.layout import Broadcast, Layout, Level, Subaxis
from pfcomp.layout.extents import padded_shape

_levels = st.sampled_from(list(Level))
_subaxes = st.builds(Subaxis, st.integers(0, 300), _levels, st.integers(0, 5000))
_broadcasts = st.one_of(
    st.builds(Broadcast, _levels), st.builds(Broadcast, _levels, st.integers(0, 16), st.integers(0, 16))
)


def layouts() -> st.SearchStrategy[Layout]:
    """Any layout value, sensible or not."""
    axes = st.lists(st.lists(_subaxes, max_size=4).map(tuple), max_size=4).map(tuple)
    return st.builds(Layout, axes, st.lists(_broadcasts, max_size=3).map(tuple))


MAX_ELEMENTS = 4096
_FIELDS = {Level.L2B: 8, Level.L1B: 8, Level.MAB: 16, Level.PE: 4}


@st.composite
def _level_digits(draw, level, limit):
    """Digits of one level that nest: sizes from a small set, sometimes a gap below a digit."""
    digits, reach = [], 1
    for _ in range(draw(st.integers(0, 2))):
        gap = draw(st.sampled_from([1, 1, 1, 2, 3]))
        size = draw(st.sampled_from([1, 2, 2, 3, 4, 4, 5, 7, 8, 16]))
        stride = reach * gap
        if (size - 1) * stride + reach > limit:
            continue
        digits.append(Subaxis(size, level, stride))
        reach = stride * size
    return digits


@st.composite
def valid_layouts(draw, bits=None, max_rank=4, extra=()):
    """(layout, shape, bits) that the verifier accepts, at most MAX_ELEMENTS padded elements."""
    bits = draw(st.sampled_from([16, 32, 64])) if bits is None else bits
    limits = {**_FIELDS, Level.W: 64 // bits, Level.ADDR: 200, Level.TIME: 6, **dict(extra)}
    digits = [digit for level, limit in limits.items() for digit in draw(_level_digits(level, limit))]
    digits = draw(st.permutations(digits))
    rank = draw(st.integers(0, max_rank))
    axes, count = [[] for _ in range(rank)], 1
    for digit in digits if rank else ():
        if count * digit.size <= MAX_ELEMENTS:
            count *= digit.size
            axes[draw(st.integers(0, rank - 1))].append(digit)
    layout = Layout(tuple(map(tuple, axes)))
    shape = tuple(padded - draw(st.integers(0, (padded - 1) // 2)) for padded in padded_shape(layout))
    return layout, shape, bits
