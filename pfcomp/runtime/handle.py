"""What stands for a tensor that a device can use, and the plain form of it that `pfvm:*` has."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from pfcomp.ir.elements import Array
from pfcomp.runtime.iospec import IOSpec

UPDATE = ":out"
"""The output `s:out` of a compiled function is the next value of its state `s`."""


class Handle(Protocol):
    """A device tensor, or a named tensor wherever it is at the moment. `version` changes with every write."""

    @property
    def spec(self) -> IOSpec:
        """Shape, types and layout."""

    @property
    def version(self) -> int:
        """A number that changes with every write."""

    def read(self) -> Array:
        """A new host array of `spec.shape` and `spec.host_type`; waits for the run that produces the value."""

    def write(self, array: Array) -> None:
        """Store a host array of as many elements, which are taken at once; later changes to it do not matter."""


class HostValue:
    """A tensor of `pfvm:*`: a private host array."""

    def __init__(self, spec: IOSpec, array: Array) -> None:
        self.spec = spec
        self.array = array
        self.version = 0

    def read(self) -> Array:
        return self.array.copy()

    def write(self, array: Array) -> None:
        self.array = np.array(array, dtype=self.spec.host_type).reshape(self.spec.shape)
        self.version += 1
