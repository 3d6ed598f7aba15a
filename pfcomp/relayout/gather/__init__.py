"""The universal relayout: any rearrangement that is known when the program is compiled (backend-movement.md 5)."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from math import prod

import numpy as np
from numpy.typing import NDArray

from pfcomp.relayout.api import Form, MovePlan
from pfcomp.relayout.gather.plan import GatherPlan, make_plan
from pfcomp.relayout.gather.wanted import Origin, Wanted

__all__ = ["GatherPlan", "gather_plan"]

LARGE = 1 << 17
"""Elements from which on a plan may be too large to keep many of them."""


def gather_plan(source: Form, target: Form, index: NDArray[np.int64] | None) -> MovePlan:
    """Plan the move that sets target element i to source element index[i]; both count row by row.

    None stands for i itself. -1 leaves the target's place as it is. Padding of the target may get any bits. The element
    sizes must agree.
    """
    key = _Index(index)
    plan = (_planned_large if prod(target.shape) >= LARGE else _planned)(source, target, key)
    key.values = None  # the cache keeps the key
    return plan


class _Index:
    """An index array that compares by its contents, also when these are gone."""

    def __init__(self, values: NDArray[np.int64] | None) -> None:
        self.values = None if values is None else np.ascontiguousarray(values, np.int64)
        self.digest = b"" if self.values is None else hashlib.sha256(self.values.tobytes()).digest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Index) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


def _plan(source: Form, target: Form, index: _Index) -> GatherPlan:
    return make_plan(Wanted.of(target, index.values), Origin.of(source))


_planned = lru_cache(maxsize=256)(_plan)
_planned_large = lru_cache(maxsize=4)(_plan)
