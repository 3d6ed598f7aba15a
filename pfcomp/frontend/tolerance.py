"""How far a computed value may be from its reference: one table for all comparisons (design.md law 5).

The bound is on the relative L2 error of a tensor and grows with the square root of the reduction length, as rounding
errors of independent terms do.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

UNIT_ROUNDOFF = {
    "bfloat16": 2.0**-8,
    "float16": 2.0**-11,
    "float32": 2.0**-24,
    "float64": 2.0**-53,
}
"""Half the distance from 1 to the next number, by dtype of the computation."""

STEPS = 64
"""Roundings that a chain of element-wise operations around one reduction is granted."""


def tolerance(dtype: str, reduction_length: int = 1) -> float:
    """Largest relative L2 error for a value computed in `dtype`; 0 for integers and bool."""
    return UNIT_ROUNDOFF.get(dtype, 0.0) * (STEPS + 4 * math.sqrt(reduction_length))


def relative_error(value: npt.ArrayLike, reference: npt.ArrayLike) -> float:
    """Relative L2 distance; inf where shapes differ or non-finite elements do not match."""
    got, wanted = np.asarray(value, dtype=np.float64), np.asarray(reference, dtype=np.float64)
    if got.shape != wanted.shape:
        return math.inf
    finite = np.isfinite(wanted)
    if not np.array_equal(got[~finite], wanted[~finite], equal_nan=True):
        return math.inf
    distance = float(np.linalg.norm((got - wanted)[finite]))
    size = float(np.linalg.norm(wanted[finite]))
    return distance / size if size > 0 else distance
