"""Overwrites everything in a value's local memory that is no element, so that whole vectors can be reduced."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import MaskRef
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.lanes import LANE_LEVELS, WORD_BITS, Lanes, decode, level_table
from pfcomp.layout import Layout, Level, extent, padded_shape


@dataclass(frozen=True, slots=True)
class Condition:
    """Which lanes of an address hold an element: all conditions must hold.

    `allowed`: the level's coordinate is in the set (a word with one bit for each coordinate). `bounds`: what the lane
    adds to the index along the axis is below the bound.
    """

    allowed: tuple[tuple[Level, int], ...] = ()
    bounds: tuple[tuple[int, int], ...] = ()


ALWAYS = Condition()

FIXED_STEPS = 6
"""Latency of the first mask, and the wait before local memory can be read again."""


def fill(context: KernelContext, value: MNValue, bits: int, axes: tuple[int, ...] | None = None) -> None:
    """Write `bits` (as many as an element has) to every lane of `value` without an element, unless they are there.

    With `axes`, only to lanes beyond the length of one of these axes. Only addresses below the layout's extent are
    covered: those that round the size up to whole vectors keep theirs.
    """
    if context.padding.get(value.name) == bits:
        return
    shape = bounded_shape(value.layout, value.shape, axes)
    groups = grouped(value.layout, shape, value.dtype.bits)
    if groups:
        lanes = Lanes(context, value.layout, value.dtype.bits)
        pattern = lanes.constants.pair(bits >> WORD_BITS if value.dtype.bits == 64 else bits, bits)
        for condition, addresses in groups.items():
            _overwrite(context, value, addresses, pattern, _outside(lanes, condition) if condition else None)
    if shape == value.shape:
        context.padding[value.name] = bits


def bounded_shape(layout: Layout, shape: tuple[int, ...], axes: tuple[int, ...] | None) -> tuple[int, ...]:
    """The shape in which axes other than `axes` have no padding."""
    padded = padded_shape(layout)
    return tuple(n if axes is None or axis in axes else padded[axis] for axis, n in enumerate(shape))


def grouped(layout: Layout, shape: tuple[int, ...], bits: int) -> dict[Condition | None, list[int]]:
    """The addresses with lanes to fill, by condition."""
    groups: dict[Condition | None, list[int]] = {}
    for address, condition in enumerate(conditions(layout, shape, bits)):
        if condition != ALWAYS:
            groups.setdefault(condition, []).append(address)
    return groups


@lru_cache(maxsize=1024)
def fill_steps(layout: Layout, shape: tuple[int, ...], bits: int, axes: tuple[int, ...] | None = None) -> int:
    """Estimated steps of `fill`."""
    groups = grouped(layout, bounded_shape(layout, shape, axes), bits)
    masks = sum(1 + 3 * len(c.allowed) + 2 * len(c.bounds) for c in groups if c)
    writes = sum(-(-len(addresses) // 4) for addresses in groups.values())
    return FIXED_STEPS + masks + writes if groups else 0


def _overwrite(
    context: KernelContext, value: MNValue, addresses: list[int], pattern: Virtual, mask: MaskRef | None
) -> None:
    base = value.address or 0
    for start in range(0, len(addresses), 4):
        target = operands.vector(value.location, [base + address for address in addresses[start : start + 4]])
        context.builder.op("lpassa", pattern, to=replace(target, mask=mask))


def _outside(lanes: Lanes, condition: Condition) -> MaskRef:
    """A mask of the lanes for which the condition does not hold."""
    entry = lanes.context.mask()
    signs = [lanes.member(level, allowed) for level, allowed in condition.allowed]
    if not signs and len(condition.bounds) == 1:
        axis, bound = condition.bounds[0]
        lanes.builder.op("isub", lanes.index(axis), lanes.constants.twice(bound), to=f"$omr{entry}")
        return MaskRef(entry)
    for axis, bound in condition.bounds:
        signs.append(lanes.builder.op("isub", lanes.index(axis), lanes.constants.twice(bound)))
    inside = signs[0]
    for sign in signs[1:]:
        inside = lanes.builder.op("iand", inside, sign)
    lanes.builder.op("frelu", inside, inside, to=f"$omr{entry}")  # the flag is that of a clear sign
    return MaskRef(entry)


_Table = tuple[tuple[int, ...] | None, ...]


@lru_cache(maxsize=256)
def conditions(layout: Layout, shape: tuple[int, ...], bits: int) -> tuple[Condition | None, ...]:
    """For every address below the extent: which lanes hold an element; None for no lane at all."""
    tables = {level: level_table(layout, level, bits) for level in LANE_LEVELS}
    axes = range(len(shape))
    most = [{level: _largest(table, axis) for level, table in tables.items()} for axis in axes]
    enough = [sum(found.values()) + 1 for found in most]
    reached = decode(layout, Level.ADDR)
    known: dict[tuple[int, ...], Condition | None] = {}
    result: list[Condition | None] = []
    for address in range(extent(layout, Level.ADDR)):
        index = reached.get(address)
        if index is None:
            result.append(None)
            continue
        bounds = tuple(max(0, min(shape[axis] - index[axis], enough[axis])) for axis in axes)
        if bounds not in known:
            known[bounds] = _condition(tables, most, bounds)
        result.append(known[bounds])
    return tuple(result)


def _largest(table: _Table, axis: int) -> int:
    return max(entry[axis] for entry in table if entry is not None)


def _condition(
    tables: dict[Level, _Table], most: Sequence[dict[Level, int]], bounds: tuple[int, ...]
) -> Condition | None:
    """Lanes whose parts of the indices are below `bounds`, as few conditions as possible.

    `most` has the largest part of each axis in each level.
    """
    if 0 in bounds:
        return None
    alone: dict[Level, list[int]] = {level: [] for level in LANE_LEVELS}
    open_bounds: list[tuple[int, int]] = []
    for axis, (bound, largest) in enumerate(zip(bounds, most, strict=True)):
        spread = [level for level in LANE_LEVELS if largest[level]]
        if len(spread) == 1:
            alone[spread[0]].append(axis)
        elif sum(largest.values()) >= bound:
            open_bounds.append((axis, bound))
    allowed: list[tuple[Level, int]] = []
    for level in LANE_LEVELS:
        inside = [
            entry is not None and all(entry[axis] < bounds[axis] for axis in alone[level]) for entry in tables[level]
        ]
        if not all(inside):
            allowed.append((level, sum(1 << place for place, member in enumerate(inside) if member)))
    return Condition(tuple(allowed), tuple(open_bounds))
