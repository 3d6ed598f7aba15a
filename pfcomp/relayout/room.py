"""Whether the scratch and tables of a plan find a place beside source and target."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from pfcomp.ir import packing
from pfcomp.ir.model import Location
from pfcomp.ir.packing import in_vectors
from pfcomp.layout.extents import extent
from pfcomp.layout.model import Level
from pfcomp.relayout.api import Form, MovePlan

Piece = tuple[int, Location | None]
"""Long words per PE, and the memory if it must be a certain one."""


def beside(plan: MovePlan) -> list[Piece]:
    """What a plan needs in local memory beside source and target."""
    scratch = [(in_vectors(one.words), one.location) for one in plan.scratch]
    return scratch + [(in_vectors(words), None) for words in plan.table_words]


def fits(plan: MovePlan, source: Form, target: Form, room: int) -> bool:
    """True if everything can lie in two memories of `room` long words."""
    return packing.fits([*_operands(source, target), *beside(plan)], room)


def spare_words(source: Form, target: Form, room: int) -> int:
    """The long words that source and target leave free in both memories together."""
    return 2 * room - sum(words for words, _ in _operands(source, target))


def fits_anyhow(plan: MovePlan, source: Form, target: Form, room: int) -> bool:
    """True if each piece of scratch also finds a gap where the source and a table lie in the middle of its memory."""
    words = [size for size, _ in _operands(source, target)]
    tables = sum(map(in_vectors, plan.table_words))
    split = 2 + bool(tables)
    return all(split * in_vectors(one.words) + words[0] + tables <= room for one in plan.scratch)


def scratch_room(tables: Sequence[int], source: Form, target: Form, room: int) -> int:
    """The long words of one memory that operands and tables can leave free at most."""
    pieces = [words for words, _ in _operands(source, target)]
    pieces += [in_vectors(table) for table in tables]
    left = 0
    for first in product((True, False), repeat=len(pieces)):
        here = sum(words for words, chosen in zip(pieces, first, strict=True) if chosen)
        left = max(left, room - here if sum(pieces) - here <= room else 0)
    return left


def _operands(source: Form, target: Form) -> list[Piece]:
    return [(in_vectors(extent(form.layout, Level.ADDR)), None) for form in (source, target)]
