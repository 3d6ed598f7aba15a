"""Off-chip memories: 4 GiB of DRAM and 4 MiB of PDM in each of four groups; only touched pages exist."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pfcomp.errors import DeviceError

GROUPS = 4
DRAM_LW = 512 << 20
PDM_LW = 512 << 10
_NORESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000 if sys.platform == "linux" else 0)


def reserve(count: int) -> NDArray[np.uint64]:
    """`count` zero long words whose pages exist once touched.

    Small pages on purpose: rows are touched here and there, and clearing huge pages for them costs more than it saves.
    """
    region = mmap.mmap(-1, count * 8, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
    return np.frombuffer(region, dtype=np.uint64)


class SparseMemory:
    """`GROUPS` address spaces of `size` long words (uint64) that wrap at their end and read as zero until written."""

    def __init__(self, name: str, size: int) -> None:
        self.name, self.size = name, size
        self._groups: list[NDArray[np.uint64] | None] = [None] * GROUPS
        self.on_read: Callable[[int, int, int], None] | None = None  # called with group, address, count
        self.on_write: Callable[[int, int, int], None] | None = None

    def array(self, group: int) -> NDArray[np.uint64]:
        """The whole address space of `group` as one array; pages are allocated by the operating system on touch."""
        found = self._groups[group]
        if found is None:
            found = self._groups[group] = self._reserve()
        return found

    def _reserve(self) -> NDArray[np.uint64]:
        try:
            return reserve(self.size)
        except (OSError, ValueError) as error:
            raise DeviceError(
                "PF0703", f"cannot reserve {self.size * 8} bytes of address space for {self.name}"
            ) from error

    def read(self, group: int, address: int, count: int) -> NDArray[np.uint64]:
        """`count` long words from LW `address` of `group` (a copy); addresses wrap (isa.md 3)."""
        self._check(group, address, count)
        if self.on_read is not None:
            self.on_read(group, address, count)
        if self._groups[group] is None:
            return np.zeros(count, np.uint64)
        memory, end = self.array(group), address + count
        if end <= self.size:
            return memory[address:end].copy()
        return np.concatenate([memory[address:], self.read(group, 0, end - self.size)])

    def write(self, group: int, address: int, data: ArrayLike) -> None:
        """Store the long words `data` (uint64, one axis) from LW `address` of `group`."""
        values = np.ascontiguousarray(data, dtype=np.uint64).reshape(-1)
        self._check(group, address, len(values))
        if self.on_write is not None:
            self.on_write(group, address, len(values))
        head = min(len(values), self.size - address)
        memory = self.array(group)
        memory[address : address + head] = values[:head]
        if head < len(values):
            self.write(group, 0, values[head:])

    def fill(self, group: int, address: int, count: int, value: int = 0) -> None:
        """Store `value` in `count` long words from LW `address` of `group`."""
        self.write(group, address, np.full(count, value, np.uint64))

    def reset(self) -> None:
        """Forget everything; all pages go back to the operating system."""
        self._groups = [None] * GROUPS

    def _check(self, group: int, address: int, count: int) -> None:
        if not (0 <= group < GROUPS and 0 <= address < self.size and 0 <= count <= self.size):
            where = f"{self.name} group {group}"
            raise DeviceError("PF0704", f"LW {address}+{count} is outside of {self.size} long words", where=where)
