"""Layout planner, part 2: the axis table of a region, by cost, by a fixed rule, or as a forced layout demands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod

from pfcomp.errors import UnsupportedError
from pfcomp.layout import Layout
from pfcomp.plan.axes import OUTER_LEVELS, AxisTable, layout_of, spread_axes, table_of
from pfcomp.plan.cost import region_steps

SMALL = 64
"""Elements up to which the canonical planner keeps a value in one MAB's form, copied everywhere else."""


@dataclass(frozen=True, slots=True)
class Demand:
    """Shapes of a region's values: those moved from or to DRAM and those computed; layouts forced by name."""

    shapes: dict[str, tuple[int, ...]]
    moved: tuple[str, ...]
    computed: tuple[str, ...]
    forced: Mapping[str, Layout]


def axis_sizes(demand: Demand) -> tuple[int, ...]:
    """The longest length of axes -1, -2, ... over the region's values."""
    rank = max(len(shape) for shape in demand.shapes.values())
    return tuple(max(s[-1 - k] if k < len(s) else 1 for s in demand.shapes.values()) for k in range(rank))


def candidate_tables(demand: Demand, planner: str) -> list[AxisTable]:
    """Axis tables for a region, best first; the planner takes the first with which it fits into LM.

    Raises UnsupportedError PF0406 for a forced layout that the region cannot have.
    """
    sizes = axis_sizes(demand)
    if demand.forced:
        return [_forced_table(demand, sizes)]
    canonical = spread_axes(sizes, (), spread_words=False)
    everywhere = spread_axes(sizes, OUTER_LEVELS, spread_words=True)
    if planner == "canonical":
        return [canonical, everywhere] if prod(sizes) <= SMALL else [everywhere]
    candidates = [canonical]
    for count in range(1, len(OUTER_LEVELS) + 1):
        for levels in combinations(OUTER_LEVELS, count):
            candidates += [spread_axes(sizes, levels, spread_words=words) for words in (False, True)]
    return sorted(candidates, key=lambda table: _steps(demand, table))


def _steps(demand: Demand, table: AxisTable) -> int:
    moved = [demand.shapes[name] for name in demand.moved]
    computed = [demand.shapes[name] for name in demand.computed]
    return region_steps(moved, computed, table)


def _forced_table(demand: Demand, sizes: tuple[int, ...]) -> AxisTable:
    """The table behind the forced layout of the largest value; every other forced layout must agree with it."""
    lead = max(demand.forced, key=lambda name: prod(demand.shapes[name]))
    table = table_of(demand.forced[lead])
    table += spread_axes((1,) * (len(sizes) - len(table)), (), spread_words=False)
    for name, layout in demand.forced.items():
        possible = layout_of(demand.shapes[name], table)
        if possible != layout:
            raise UnsupportedError(
                "PF0406",
                f"{name} cannot have the layout {layout}: next to {lead} it would have {possible}",
                hint="drop the constraint; the value is then converted when it is handed over",
            )
    return table
