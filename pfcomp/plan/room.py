"""Whether local memory has room for all that one task needs, when nothing else lies there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pfcomp.ir.model import Location
from pfcomp.ir.packing import fits, in_vectors
from pfcomp.kernels.api import Binding
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level

Needed = tuple[int, Location | None]
"""Long words per PE, and the memory if it must be a certain one."""


@lru_cache(maxsize=1 << 15)
def layout_words(layout: Layout) -> int:
    """Long words per PE of a value, in whole vectors."""
    return in_vectors(extent(layout, Level.ADDR))


def way_fits(binding: Binding, operands: Sequence[str], room: int) -> bool:
    """True if a way to compute a node on these operands fits into two memories of `room` long words.

    Results may lie over operands where the binding says so, since what is still needed of those can be stored aside.
    """
    copies = dict(zip(zip(operands, map(canonical, binding.inputs), strict=True), binding.inputs, strict=True))
    read: list[Needed] = [(layout_words(layout), None) for layout in copies.values()]
    results: list[Needed] = [(layout_words(layout), None) for layout in binding.outputs]
    besides: list[Needed] = [(in_vectors(one.words), one.location) for one in binding.scratch]
    besides += [(in_vectors(table.contents.shape[-1]), None) for table in binding.tables]
    return fits((*read, *results, *besides), room) or fits((*read, *_beside_operands(binding), *besides), room)


def move_fits(sources: Sequence[Layout], target: Layout, besides: Sequence[Needed], room: int) -> bool:
    """True if operands, result, scratch and tables of a move fit into two memories of `room` long words."""
    values: list[Needed] = [(layout_words(layout), None) for layout in (*sources, target)]
    return fits((*values, *besides), room)


def _beside_operands(binding: Binding) -> list[Needed]:
    """Results that need a place of their own although each operand may hold one."""
    taken: dict[int, int] = {}
    for operand, result in (*binding.overwrites, *binding.in_place):
        covers = layout_words(binding.inputs[operand]) >= layout_words(binding.outputs[result])
        if covers and operand not in taken.values():
            taken.setdefault(result, operand)
    return [(layout_words(layout), None) for k, layout in enumerate(binding.outputs) if k not in taken]
