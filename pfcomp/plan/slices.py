"""Layouts of tensors in DRAM that are loaded or stored piece by piece: every piece is a time slice of the image."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from pfcomp.ir.model import LM_WORDS
from pfcomp.kernels.api import Spec
from pfcomp.layout import Layout, Subaxis
from pfcomp.layout.extents import padded_shape
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.model import Level
from pfcomp.plan import ways
from pfcomp.plan.costs import fits
from pfcomp.plan.dram import STORE
from pfcomp.plan.lower.graph import Piece


def suits(spec: Spec, piece: Piece | None, layout: Layout) -> bool:
    """True if `layout` can be that of all pieces: no padding between them, and none is stored over another one."""
    if piece is None:
        return True
    padded = padded_shape(layout)
    cut = zip(piece.counts, piece.lengths, padded, strict=True)
    if any(count > 1 and length != size for count, length, size in cut):
        return False
    return not piece.written or ImageSpec.of(layout, spec.shape, spec.dtype.bits).slice_words % STORE == 0


def image_layout(piece: Piece, layout: Layout) -> Layout:
    """The layout of the tensor in DRAM whose pieces have `layout`."""
    axes = []
    for axis, (digits, count) in enumerate(zip(layout.axes, piece.counts, strict=True)):
        stride = prod(piece.counts[axis + 1 :])
        axes.append((Subaxis(count, Level.TIME, stride), *digits) if count > 1 else digits)
    return Layout(tuple(axes), layout.broadcast)


def usual_forms(spec: Spec, piece: Piece | None, room: int = LM_WORDS) -> Sequence[Layout]:
    """Layouts that suit loading and storing and fit, best first; none where the pieces cannot be slices of one image.

    `room` is in long words of one memory.
    """
    if piece is None:
        return ways.usual_forms(spec, room)
    full = Spec(piece.lengths, spec.dtype)
    return [x for x in ways.all_forms(full) if fits(full, x, room) and suits(full, piece, x)][: ways.USUAL]


def can_be_cut(spec: Spec, piece: Piece) -> bool:
    """True if pieces like this one can be time slices of one image."""
    return any(suits(spec, piece, layout) for layout in ways.all_forms(spec))
