"""Allocation of device DRAM, in long words per group: every group has the same map (backend-movement.md 2)."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import deque

from pfcomp.errors import DeviceError

UNIT = 16  # one DRAM access: addresses and lengths are multiples of it
TRANSFER = 64  # an MV transfer writes whole multiples of this, so every value owns that much behind its base
TAIL = 48  # long words that stay readable behind the last value (a transfer of 64 that starts at its last 16)
GROUP_LONG_WORDS = 4 * 2**30 // 8  # 4 GiB of DRAM per group


def round_up(value: int, multiple: int) -> int:
    """The smallest multiple of `multiple` that is not below `value`."""
    return -(-value // multiple) * multiple


class DramAllocator:
    """First fit over a sorted list of free ranges. The lowest fitting address wins, so equal histories give equal maps.

    Ranges are half open and in long words per group. A value that is written reserves a multiple of 64 from an
    address that is a multiple of 64 when it has 64 or more long words, of 16 otherwise; read-only values are packed
    at 16.
    """

    def __init__(self, capacity: int = GROUP_LONG_WORDS) -> None:
        self.capacity = capacity
        self._free: list[tuple[int, int]] = [(0, round_up(capacity - TAIL - UNIT + 1, UNIT))]
        self._used: dict[int, int] = {}
        self._lock = threading.Lock()
        self._released: deque[int] = deque()

    @property
    def used(self) -> int:
        """Reserved long words per group."""
        self._collect()
        return sum(end - begin for begin, end in self._used.items())

    @property
    def largest(self) -> int:
        """Length of the longest free range in long words per group."""
        return max((end - begin for begin, end in self._free), default=0)

    def allocate(self, size: int, *, written: bool = True, name: str = "") -> int:
        """Base of a new range for `size` long words per group. Raises DeviceError PF0606 when nothing fits."""
        reserve = round_up(max(size, 1), TRANSFER if written else UNIT)
        alignment = TRANSFER if size >= TRANSFER else UNIT
        with self._lock:
            return self._first_fit(reserve, alignment, name)

    def _first_fit(self, reserve: int, alignment: int, name: str) -> int:
        self._collect()
        for position, (begin, end) in enumerate(self._free):
            base = round_up(begin, alignment)
            if base + reserve <= end:
                rest = [(begin, base), (base + reserve, end)]
                self._free[position : position + 1] = [piece for piece in rest if piece[0] < piece[1]]
                self._used[base] = base + reserve
                return base
        raise self._exhausted(reserve, name)

    def free(self, base: int) -> None:
        """Give back the range that `allocate` returned as `base`, joining it with free neighbours."""
        begin, end = base, self._used.pop(base)
        position = bisect_left(self._free, (begin, end))
        if position < len(self._free) and self._free[position][0] == end:
            end = self._free.pop(position)[1]
        if position and self._free[position - 1][1] == begin:
            position -= 1
            begin = self._free.pop(position)[0]
        self._free.insert(position, (begin, end))

    def release(self, base: int) -> None:
        """Like `free`, but at the next `allocate`: safe in any thread and inside the garbage collector."""
        self._released.append(base)

    def _collect(self) -> None:
        while self._released:
            self.free(self._released.popleft())

    def _exhausted(self, reserve: int, name: str) -> DeviceError:
        for_whom = f" for {name}" if name else ""
        what = (
            f"device memory is full{for_whom}: {_mebibytes(reserve)} needed in each group, "
            f"largest free range {_mebibytes(self.largest)} of {_mebibytes(self.capacity)}"
        )
        hint = "drop proxies that are no longer needed, call Context.invalidate() or use a smaller batch"
        return DeviceError("PF0606", what, hint=hint)


def _mebibytes(long_words: int) -> str:
    return f"{long_words * 8 / 2**20:.4g} MiB"
