"""Layouts of tensors in DRAM that are loaded or stored piece by piece: every piece is a time slice of the image."""

from __future__ import annotations

from math import prod

from pfcomp.errors import UnsupportedError
from pfcomp.kernels.api import Spec
from pfcomp.layout import Layout, Subaxis
from pfcomp.layout.extents import padded_shape
from pfcomp.layout.imagespec import ImageSpec
from pfcomp.layout.model import Level
from pfcomp.plan import ways
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


def usual_forms(spec: Spec, piece: Piece | None) -> tuple[Layout, ...]:
    """Layouts that suit loading and storing, best first. Raises UnsupportedError PF0421 where a piece has none."""
    if piece is None:
        return ways.usual_forms(spec)
    full = Spec(piece.lengths, spec.dtype)
    found = tuple(layout for layout in ways.all_forms(full) if suits(full, piece, layout))
    if not found:
        raise UnsupportedError(
            "PF0421",
            f"{piece.tensor!r} cannot be cut into pieces of {'x'.join(map(str, piece.lengths))} elements",
            hint="pad its axes to multiples of a power of two, or use a smaller batch",
        )
    return found[: ways.USUAL]
