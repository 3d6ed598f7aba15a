"""Time slices: cutting a region into blocks of addresses that fit into LM.

A block is a range of every axis' address digit. Blocks cut the slowest digits first, so the part of a value that
belongs to a block is one contiguous range of its addresses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from pfcomp.plan.axes import AxisTable, address_extents, address_strides


@dataclass(frozen=True, slots=True)
class Block:
    """`ranges[k]` is the half-open range of the address digit of axis -1-k."""

    ranges: tuple[tuple[int, int], ...]

    def part(self, shape: tuple[int, ...], table: AxisTable) -> tuple[int, int]:
        """The half-open range of addresses (long words per PE) of a value of `shape` that belong to this block."""
        extents = address_extents(shape, table)
        strides = address_strides(extents)
        start, count = 0, 1
        for k, n in enumerate(shape):
            low, high = (0, 1) if n == 1 else self.ranges[len(shape) - 1 - k]
            low, high = min(low, extents[k]), min(high, extents[k])
            start += low * strides[k]
            count *= high - low
        return start, start + count


def region_extents(sizes: tuple[int, ...], table: AxisTable) -> tuple[int, ...]:
    """Address digit sizes of axes -1, -2, ... for the longest value of each axis."""
    return tuple(reversed(address_extents(tuple(reversed(sizes)), table)))


def whole(extents: tuple[int, ...]) -> tuple[Block, ...]:
    """The single block that covers everything."""
    return (Block(tuple((0, n) for n in extents)),)


def cuts(extents: tuple[int, ...]) -> Iterator[tuple[Block, ...]]:
    """Ever finer cuts, the whole first: the slowest digit is halved down to single indices, then the next one."""
    yield whole(extents)
    for axis in range(len(extents) - 1, -1, -1):
        length = extents[axis]
        while length > 1:
            length = -(-length // 2)
            yield _cut(extents, axis, length)


def _cut(extents: tuple[int, ...], axis: int, length: int) -> tuple[Block, ...]:
    """Blocks with one index of every slower axis, `length` indices of `axis` and all of the faster ones."""
    slower = [[(i, i + 1) for i in range(n)] for n in reversed(extents[axis + 1 :])]
    pieces = [(i, min(i + length, extents[axis])) for i in range(0, extents[axis], length)]
    faster = tuple((0, n) for n in extents[:axis])
    return tuple(Block((*faster, *reversed(chosen))) for chosen in product(*slower, pieces))


def is_cut(shape: tuple[int, ...], table: AxisTable, blocks: tuple[Block, ...]) -> bool:
    """True if a value of `shape` has different parts in different blocks."""
    first = blocks[0].part(shape, table)
    return any(block.part(shape, table) != first for block in blocks[1:])
