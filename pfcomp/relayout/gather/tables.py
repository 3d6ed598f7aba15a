"""Tables of T: five word indices of 12 bits in a long word (backend-movement.md 5.1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pfcomp.kernels.api import Table
from pfcomp.relayout.gather.wanted import LEVELS
from pfcomp.relayout.spots import Ints

FIELDS, FIELD_BITS = 5, 12
CYCLES = 4
OTHER = 1 << (FIELD_BITS - 1)
"""Set in an index whose place must not be written; indices of windows are below it."""


def pack_vectors(vectors: Sequence[Ints]) -> NDArray[np.uint64]:
    """Vectors of T, each (cells, 4 cycles): vector v is field v mod 5 of the long words 4·(v // 5) + cycle."""
    packed = np.zeros((len(vectors[0]), CYCLES * -(-len(vectors) // FIELDS)), np.uint64)
    for number, vector in enumerate(vectors):
        group, field = divmod(number, FIELDS)
        shifted = vector.astype(np.uint64) << np.uint64(FIELD_BITS * field)
        packed[:, CYCLES * group : CYCLES * (group + 1)] |= shifted
    return packed


def table_of(cells: Sequence[Ints], used_bits: Sequence[int], contents: NDArray[np.uint64]) -> Table:
    """Contents by cell and address as a table for all coordinates of the levels that have more than one cell."""
    spread = contents.reshape(*(len(cell) for cell in cells), -1)
    for axis, (cell, used, level) in enumerate(zip(cells, used_bits, LEVELS, strict=True)):
        if len(cell) > 1:
            at = np.searchsorted(cell, np.arange(level.extent) & used)
            spread = np.take(spread, at, axis=axis)
    return Table(spread)
