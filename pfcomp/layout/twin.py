"""The 64-bit twin of a 32-bit layout: the same elements in the same PEs, one long word each.

Element (address a, word w) of the 32-bit form lies at address 2a + w of its twin. Where the 32-bit form does not tell
words apart, both words hold the element and its twin has the addresses of the form itself.
"""

from __future__ import annotations

from pfcomp.layout.extents import used_bits
from pfcomp.layout.model import Broadcast, Layout, Level, Subaxis


def splits_words(layout: Layout) -> bool:
    """True if the two words of a long word hold different elements."""
    return bool(used_bits(layout, Level.W))


def twin(layout: Layout) -> Layout:
    """The layout of 64-bit elements beside those of 32 bits in `layout`."""
    scale = 2 if splits_words(layout) else 1

    def moved(sub: Subaxis) -> Subaxis:
        if sub.level is Level.W:
            return Subaxis(sub.size, Level.ADDR, sub.stride)
        return Subaxis(sub.size, sub.level, sub.stride * scale) if sub.level is Level.ADDR else sub

    axes = tuple(tuple(moved(sub) for sub in axis) for axis in layout.axes)
    return Layout(axes, tuple(entry for entry in layout.broadcast if entry.level is not Level.W))


def widened(layout: Layout) -> Layout:
    """The layout of 32-bit elements whose twin is `layout`, a layout of 64-bit elements: both words alike."""
    copies = tuple(entry for entry in layout.broadcast if entry.level is not Level.W)
    return Layout(layout.axes, (*copies, Broadcast(Level.W)))


def paired(layout: Layout) -> Layout | None:
    """The layout of 32-bit elements whose twin is `layout` and whose words differ; None if there is none."""
    digits = [sub for axis in layout.axes for sub in axis if sub.level is Level.ADDR and sub.size > 1]
    fastest = [sub for sub in digits if sub.stride == 1]
    if len(fastest) != 1 or fastest[0].size % 2 or any(sub.stride % 2 for sub in digits if sub.stride > 1):
        return None

    def halved(sub: Subaxis) -> tuple[Subaxis, ...]:
        if sub.level is not Level.ADDR or sub.size == 1:
            return (sub,)
        if sub.stride > 1:
            return (Subaxis(sub.size, Level.ADDR, sub.stride // 2),)
        return (Subaxis(sub.size // 2, Level.ADDR, 1), Subaxis(2, Level.W, 1))

    axes = tuple(tuple(part for sub in axis for part in halved(sub)) for axis in layout.axes)
    return Layout(axes, tuple(entry for entry in layout.broadcast if entry.level is not Level.W))
