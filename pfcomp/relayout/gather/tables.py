"""Tables of T: five word indices of 12 bits in a long word (backend-movement.md 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pfcomp.kernels.api import Table
from pfcomp.relayout.gather.wanted import LEVELS, Ints, Wanted

FIELDS, FIELD_BITS = 5, 12
CYCLES = 4
OTHER = 1 << (FIELD_BITS - 1)
"""Set in an index whose place must not be written; indices of windows are below it."""


def pack_table(wanted: Wanted, vectors: Sequence[Ints]) -> Table:
    """Vectors of T, each (cells, 4 cycles): vector v is field v mod 5 of the long words 4·(v // 5) + cycle."""
    cells = tuple(len(cell) for cell in wanted.cells)
    groups = -(-len(vectors) // FIELDS)
    packed = np.zeros((int(np.prod(cells)), CYCLES * groups), np.uint64)
    for number, vector in enumerate(vectors):
        group, field = divmod(number, FIELDS)
        shifted = vector.astype(np.uint64) << np.uint64(FIELD_BITS * field)
        packed[:, CYCLES * group : CYCLES * (group + 1)] |= shifted
    return Table(_spread(wanted, packed.reshape(*cells, -1)))


def _spread(wanted: Wanted, contents: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Contents for all coordinates of the levels that have more than one cell."""
    for axis, (cell, used, level) in enumerate(zip(wanted.cells, wanted.used, LEVELS, strict=True)):
        if len(cell) > 1:
            at = np.searchsorted(cell, np.arange(level.extent) & used)
            contents = np.take(contents, at, axis=axis)
    return contents
