"""Comparing results with expectations, with a report that a person can act on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pfcomp.errors import UsageError
from pfcomp.ir.elements import Array


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an output compares: `mismatches` of `elements` lie beyond atol + rtol * |expected|.

    `index`, `expected`, `got` and `difference` describe the worst element (the one furthest beyond its tolerance).
    """

    name: str
    elements: int
    mismatches: int
    index: tuple[int, ...]
    expected: float
    got: float
    difference: float
    rtol: float
    atol: float

    @property
    def held(self) -> bool:
        """True if every element is within the tolerance."""
        return self.mismatches == 0

    def __str__(self) -> str:
        if self.held:
            return f"{self.name}: as expected ({self.elements} elements, largest difference {self.difference:g})"
        return (
            f"{self.name}: MISMATCH in {self.mismatches} of {self.elements} elements (rtol {self.rtol:g}, "
            f"atol {self.atol:g}); worst at {list(self.index)}: expected {self.expected:.9g}, got {self.got:.9g}, "
            f"difference {self.difference:.3g}"
        )


def compare(name: str, got: Array, expected: Array, rtol: float, atol: float) -> Comparison:
    """Compare element by element; equal infinities and two NaNs are equal. Raises UsageError PF0616 on other sizes."""
    if got.size != expected.size:
        what = f"output {name} has shape {list(got.shape)}, the expectation {list(expected.shape)}"
        raise UsageError("PF0616", what)
    wanted = expected.reshape(got.shape).astype(np.float64)
    found = got.astype(np.float64)
    same = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    with np.errstate(invalid="ignore"):
        distance = np.abs(found - wanted)
        excess = distance - (atol + rtol * np.abs(wanted))
    distance = np.where(same, 0.0, np.nan_to_num(distance, nan=np.inf, posinf=np.inf))
    excess = np.where(same, -np.inf, np.nan_to_num(excess, nan=np.inf, posinf=np.inf))
    if not got.size:
        return Comparison(name, 0, 0, (), 0.0, 0.0, 0.0, rtol, atol)
    bad = excess > 0
    worst = np.unravel_index(int(np.argmax(excess if bad.any() else distance)), got.shape)
    index = tuple(int(i) for i in worst)
    numbers = (float(wanted[index]), float(found[index]), float(distance[index]))
    return Comparison(name, got.size, int(bad.sum()), index, *numbers, rtol, atol)
