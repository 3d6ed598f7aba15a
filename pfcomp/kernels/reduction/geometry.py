"""What a reduction has to combine under a layout: bits of the spatial levels, and addresses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import prod

from pfcomp.ir.model import LM_WORDS
from pfcomp.kernels.lanes import LANE_LEVELS, level_table
from pfcomp.layout import Layout, Level, Subaxis, broadcast_operand, free_bits, padded_shape, used_bits, with_broadcast
from pfcomp.layout.extents import digits_of, extent


@dataclass(frozen=True, slots=True)
class Field:
    """The bits of a level's coordinate: `kept` tell results apart, `reduced` are combined, `copies` are neither."""

    kept: int
    reduced: int
    copies: int

    @property
    def whole(self) -> bool:
        """All lanes of the level end with the same result."""
        return self.kept == 0


@dataclass(frozen=True, slots=True)
class Geometry:
    """A reduction under a layout.

    `output`: the layout of the result. `kept`: pairs (address of the operand, address of the result) of all results;
    `offsets`: what is added to the first to reach all addresses that are combined. `padded`: lanes without an element
    would be combined as well, so they must hold the neutral element.
    """

    output: Layout
    fields: dict[Level, Field]
    kept: tuple[tuple[int, int], ...]
    offsets: tuple[int, ...]
    padded: bool


def reduced_layout(layout: Layout, axes: tuple[int, ...], keepdims: bool) -> Layout:
    """The layout of the result: that of an operand which is repeated along `axes` (or has lost them)."""
    padded = padded_shape(layout)
    kept_shape = tuple(1 if axis in axes else size for axis, size in enumerate(padded))
    repeated = broadcast_operand(layout, padded, kept_shape)
    if keepdims:
        return repeated
    rest = tuple(digits for axis, digits in enumerate(repeated.axes) if axis not in axes)
    return with_broadcast(Layout(rest))


@lru_cache(maxsize=256)
def geometry(
    layout: Layout, shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool, bits: int
) -> Geometry | None:
    """None if kept and reduced digits share bits of a level, or if the operand does not fit into local memory."""
    if digits_of(layout, Level.TIME) or extent(layout, Level.ADDR) > LM_WORDS:
        return None
    fields = {level: _field(layout, level, axes, bits) for level in LANE_LEVELS}
    if any(field is None for field in fields.values()):
        return None
    found = {level: field for level, field in fields.items() if field is not None}
    output = reduced_layout(layout, axes, keepdims)
    offsets = tuple(sorted(offset for offset, _ in _addresses(layout, layout, shape, axes)))
    others = tuple(axis for axis in range(len(shape)) if axis not in axes)
    rest = output if keepdims else Layout(_with_axes(output.axes, axes))
    kept = sorted(_addresses(layout, rest, shape, others), key=lambda pair: pair[1])
    return Geometry(output, found, tuple(kept), offsets, _padded(layout, shape, axes, found, bits))


def _with_axes(rest: tuple[tuple[Subaxis, ...], ...], axes: tuple[int, ...]) -> tuple[tuple[Subaxis, ...], ...]:
    """The axes of a result with the reduced ones put back, without digits."""
    digits = iter(rest)
    return tuple(() if axis in axes else next(digits) for axis in range(len(rest) + len(axes)))


def _field(layout: Layout, level: Level, axes: tuple[int, ...], bits: int) -> Field | None:
    reduced = used_bits(_part(layout, axes, inside=True), level)
    kept = used_bits(_part(layout, axes, inside=False), level)
    return None if reduced & kept else Field(kept, reduced, free_bits(layout, level, bits))


def _part(layout: Layout, axes: tuple[int, ...], *, inside: bool) -> Layout:
    return Layout(tuple(digits if (axis in axes) is inside else () for axis, digits in enumerate(layout.axes)))


def _addresses(source: Layout, target: Layout, shape: tuple[int, ...], axes: tuple[int, ...]) -> list[tuple[int, int]]:
    """What the Addr digits of `axes` add to the address in two layouts of the same digits; padding is left out."""
    found = [(0, 0)]
    for axis in axes:
        subs = source.axes[axis]
        digits = [
            (prod(after.size for after in subs[position + 1 :]), sub.stride, other.stride)
            for position, (sub, other) in enumerate(zip(subs, target.axes[axis], strict=True))
            if sub.level is Level.ADDR and sub.size > 1
        ]
        sizes = [sub.size for sub in subs if sub.level is Level.ADDR and sub.size > 1]
        steps = []
        for values in product(*map(range, sizes)):
            if sum(value * weight for value, (weight, _, _) in zip(values, digits, strict=True)) < shape[axis]:
                one = sum(value * stride for value, (_, stride, _) in zip(values, digits, strict=True))
                two = sum(value * stride for value, (_, _, stride) in zip(values, digits, strict=True))
                steps.append((one, two))
        found = [(a + one, b + two) for a, b in found for one, two in steps]
    return found


def _padded(
    layout: Layout, shape: tuple[int, ...], axes: tuple[int, ...], fields: dict[Level, Field], bits: int
) -> bool:
    """True if padding of a reduced axis lies in lanes that are combined."""
    for level, field in fields.items():
        if field.reduced and None in level_table(layout, level, bits):
            return True
    for axis in axes:
        subs = layout.axes[axis]
        spatial = [sub.level is not Level.ADDR for sub in subs]
        if any(spatial) and prod(sub.size for sub in subs) > shape[axis] and not _only_addresses(subs, shape[axis]):
            return True
    return False


def _only_addresses(subs: tuple[Subaxis, ...], size: int) -> bool:
    """True if all padding of an axis lies in addresses without an element: its slowest digits are Addr digits."""
    below = prod(sub.size for sub in subs)
    for sub in subs:
        if sub.level is not Level.ADDR and sub.size > 1:
            break
        below //= sub.size
    return size % below == 0
