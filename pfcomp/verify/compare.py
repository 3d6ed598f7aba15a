"""Errors of one value against its reference: absolute, relative, in units in the last place, and the angle."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.generic]


@dataclass(frozen=True, slots=True)
class Errors:
    """`absolute` is the largest difference, `relative` that over the largest magnitude of the reference."""

    absolute: float
    relative: float
    ulps: float
    cosine: float


def errors(found: Array, reference: Array) -> Errors:
    """Compare in double precision; equal infinities are no error, other non-finite differences are infinite."""
    got, wanted = found.astype(np.float64), reference.astype(np.float64)
    with np.errstate(invalid="ignore"):
        difference = np.where(got == wanted, 0.0, np.abs(got - wanted))
    difference = np.where(np.isnan(difference), np.inf, difference)
    largest = float(difference.max(initial=0.0))
    finite = np.isfinite(wanted)
    scale = float(np.abs(wanted[finite]).max(initial=0.0))
    spacing = np.spacing(np.maximum(np.abs(wanted[finite]), _tiny(reference)).astype(_float(reference)))
    ulps = float((difference[finite] / spacing.astype(np.float64)).max(initial=0.0))
    return Errors(largest, largest / scale if scale else largest, ulps, _cosine(got[finite], wanted[finite]))


def _float(reference: Array) -> type[np.floating]:
    return np.float64 if reference.dtype == np.float64 else np.float32


def _tiny(reference: Array) -> float:
    return float(np.finfo(_float(reference)).tiny)


def _cosine(got: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    lengths = float(np.linalg.norm(got) * np.linalg.norm(wanted))
    if not lengths:
        return 1.0 if np.array_equal(got, wanted) else 0.0
    return float(np.vdot(got, wanted)) / lengths
