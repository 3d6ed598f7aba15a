"""Layouts for indexing: the indexed axis in Addr, other axes of the data first over the chip, then in Addr, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from pfcomp.kernels.api import Job
from pfcomp.layout import Layout, Level, Subaxis
from pfcomp.layout.extents import level_extent, used_bits

INNER = (Level.W, Level.PE, Level.MAB, Level.L1B, Level.L2B)

Digits = tuple[Subaxis, ...]


def axis_of(job: Job) -> int:
    """The attribute `axis`, counted from the front."""
    axis = job.attribute("axis")
    if not isinstance(axis, int):
        raise TypeError(f"{job.op} has axis {axis!r}, not a number")
    return axis % len(job.inputs[0].shape)


def data_layout(shape: Sequence[int], axis: int, bits: int, *, spread: bool = False) -> Layout:
    """The indexed axis in Addr with stride 1, the others spread from the last one on, words first.

    With `spread`, what these leave of PEs and above shares the indices among it: neighbours lie in different places.
    What has the same index has neighbouring addresses then.
    """
    digits: list[list[Subaxis]] = [[] for _ in shape]
    rest = list(shape)
    room = {level: level_extent(level, bits) for level in INNER}
    others = [number for number in reversed(range(len(shape))) if number != axis]
    for other in (*others, axis) if spread else others:
        for level in INNER if other != axis else INNER[1:]:
            size = min(room[level], 1 << (rest[other] - 1).bit_length())
            if size > 1:
                digits[other].insert(0, Subaxis(size, level, level_extent(level, bits) // room[level]))
                room[level] //= size
                rest[other] = -(-rest[other] // size)
    stride = 1
    for number in (*others, axis) if spread else (axis, *others):
        if number == axis:
            stride = 1 << (stride - 1).bit_length()
        if rest[number] > 1:
            digits[number].insert(0, Subaxis(rest[number], Level.ADDR, stride))
            stride *= rest[number]
    return Layout(tuple(map(tuple, digits)))


def index_digits(shape: Sequence[int], data: Layout) -> tuple[tuple[Digits, ...], int]:
    """Digits for the axes of an index, over what the data leaves of PEs and above, then Addr; and its addresses."""
    digits: list[list[Subaxis]] = [[] for _ in shape]
    rest = list(shape)
    stride = {level: 1 << used_bits(data, level).bit_length() for level in INNER[1:]}
    for axis in reversed(range(len(shape))):
        for level in INNER[1:]:
            size = min(level.extent // stride[level], 1 << (rest[axis] - 1).bit_length())
            if size > 1:
                digits[axis].insert(0, Subaxis(size, level, stride[level]))
                stride[level] *= size
                rest[axis] = -(-rest[axis] // size)
    addresses = 1
    for axis in reversed(range(len(shape))):
        if rest[axis] > 1:
            digits[axis].insert(0, Subaxis(rest[axis], Level.ADDR, addresses))
            addresses *= rest[axis]
    return tuple(map(tuple, digits)), addresses


@dataclass(frozen=True, slots=True)
class Rows:
    """How data lies in the addresses of a PE: `shift` is log2 of the distance of two indices.

    `rest` are the digits of the other axes in Addr, as (axis, position in the axis), by ascending stride. `holders` are
    the digits of the indexed axis that are coordinates, the slowest first: index number i lies at address i / holders.
    """

    shift: int
    rest: tuple[tuple[int, int], ...]
    holders: Digits = ()

    def count(self, length: int) -> int:
        """How many indices of an axis each PE has."""
        return -(-length // prod(sub.size for sub in self.holders))

    def bases(self, layout: Layout) -> list[int]:
        """The addresses of index 0 for all values of the other digits, the digit of the least stride fastest."""
        digits = [layout.axes[axis][position] for axis, position in self.rest]
        found = product(*(range(sub.size) for sub in reversed(digits)))
        strides = [sub.stride for sub in reversed(digits)]
        return [sum(v * s for v, s in zip(values, strides, strict=True)) for values in found]

    def restrided(self, layout: Layout, stride: int) -> Layout:
        """The layout with the other digits packed tightly from `stride` on."""
        axes = [list(axis) for axis in layout.axes]
        for axis, position in self.rest:
            sub = axes[axis][position]
            axes[axis][position] = Subaxis(sub.size, Level.ADDR, stride)
            stride *= sub.size
        return Layout(tuple(map(tuple, axes)))


def rows_of(layout: Layout, axis: int, *, spread: bool = False) -> Rows | None:
    """How an axis lies in Addr; None if it is not one digit with a power of two as stride.

    With `spread`, faster digits may be coordinates of PEs and above, if their sizes and strides are powers of two.
    """
    digits = [sub for sub in layout.axes[axis] if sub.size > 1]
    own = digits[:1] if digits and digits[0].level is Level.ADDR else []
    holders = tuple(digits[len(own) :])
    if any(sub.stride & (sub.stride - 1) for sub in digits) or (holders and not spread):
        return None
    if any(sub.level not in INNER[1:] or sub.size & (sub.size - 1) for sub in holders):
        return None
    return Rows(own[0].stride.bit_length() - 1 if own else 0, tuple(_others(layout, axis)), holders)


def _others(layout: Layout, axis: int) -> Iterator[tuple[int, int]]:
    found = [
        (sub.stride, number, position)
        for number, axis_digits in enumerate(layout.axes)
        for position, sub in enumerate(axis_digits)
        if number != axis and sub.level is Level.ADDR and sub.size > 1
    ]
    return ((number, position) for _, number, position in sorted(found))


def replaced(layout: Layout, axis: int, digits: Sequence[Digits]) -> Layout:
    """The layout with the digits of one axis replaced by those of any number of axes."""
    return Layout((*layout.axes[:axis], *digits, *layout.axes[axis + 1 :]))
