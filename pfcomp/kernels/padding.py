"""Overwrites everything in a value's local memory that is no element, so that whole vectors can be reduced."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import MaskRef
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.lanes import LANE_LEVELS, WORD_BITS, Lanes, decode, level_table
from pfcomp.layout import Layout, Level, extent


@dataclass(frozen=True, slots=True)
class Condition:
    """Which lanes of an address hold an element: all conditions must hold.

    `allowed`: the level's coordinate is in the set (a word with one bit for each coordinate). `bounds`: what the lane
    adds to the index along the axis is below the bound.
    """

    allowed: tuple[tuple[Level, int], ...] = ()
    bounds: tuple[tuple[int, int], ...] = ()


ALWAYS = Condition()


def fill(context: KernelContext, value: MNValue, bits: int) -> None:
    """Write `bits` (as many as an element has) to every lane of `value` without an element, unless they are there.

    Only addresses below the layout's extent are covered: those that round the size up to whole vectors keep theirs.
    """
    if context.padding.get(value.name) == bits:
        return
    groups: dict[Condition | None, list[int]] = {}
    for address, condition in enumerate(conditions(value.layout, value.shape, value.dtype.bits)):
        if condition != ALWAYS:
            groups.setdefault(condition, []).append(address)
    if groups:
        lanes = Lanes(context, value.layout, value.dtype.bits)
        pattern = lanes.constants.pair(bits >> WORD_BITS if value.dtype.bits == 64 else bits, bits)
        for condition, addresses in groups.items():
            _overwrite(context, value, addresses, pattern, _outside(lanes, condition) if condition else None)
    context.padding[value.name] = bits


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


@lru_cache(maxsize=256)
def conditions(layout: Layout, shape: tuple[int, ...], bits: int) -> tuple[Condition | None, ...]:
    """For every address below the extent: which lanes hold an element; None for no lane at all."""
    tables = {level: level_table(layout, level, bits) for level in LANE_LEVELS}
    reached = decode(layout, Level.ADDR)
    found: dict[tuple[int, ...], Condition | None] = {}
    result: list[Condition | None] = []
    for address in range(extent(layout, Level.ADDR)):
        index = reached.get(address)
        if index is not None and index not in found:
            found[index] = _condition(tables, tuple(n - i for n, i in zip(shape, index, strict=True)))
        result.append(None if index is None else found[index])
    return tuple(result)


_Tables = dict[Level, tuple[tuple[int, ...] | None, ...]]


def _condition(tables: _Tables, bounds: tuple[int, ...]) -> Condition | None:
    """Lanes whose parts of the indices are below `bounds`, as few conditions as possible."""
    if min(bounds, default=1) <= 0:
        return None
    alone: dict[Level, list[int]] = {level: [] for level in LANE_LEVELS}
    open_bounds: list[tuple[int, int]] = []
    for axis, bound in enumerate(bounds):
        largest = {level: max(entry[axis] for entry in table if entry is not None) for level, table in tables.items()}
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
