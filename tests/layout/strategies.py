"""Hypothesis strategies for layouts, shapes and dtypes."""

from hypothesis import strategies as st

from pfcomp.layout import Broadcast, Layout, Level, Subaxis

_levels = st.sampled_from(list(Level))
_subaxes = st.builds(Subaxis, st.integers(0, 300), _levels, st.integers(0, 5000))
_broadcasts = st.one_of(
    st.builds(Broadcast, _levels), st.builds(Broadcast, _levels, st.integers(0, 16), st.integers(0, 16))
)


def layouts() -> st.SearchStrategy[Layout]:
    """Any layout value, sensible or not."""
    axes = st.lists(st.lists(_subaxes, max_size=4).map(tuple), max_size=4).map(tuple)
    return st.builds(Layout, axes, st.lists(_broadcasts, max_size=3).map(tuple))
