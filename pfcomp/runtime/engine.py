"""The engine behind a device string: an emulator with its DRAM allocator, a job queue and counters.

One engine exists per device string and process; contexts on the same device share it. Device memory lives in the
process, the board's lock says whose turn it is.
"""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.machine import Executable, Machine, RunResult
from pfcomp.isa.model import Program
from pfcomp.runtime.allocator import DramAllocator
from pfcomp.runtime.boards import acquired, announce, held_now
from pfcomp.runtime.devices import Device, DeviceKind, candidate_boards
from pfcomp.runtime.maintenance import Fill, board_fill
from pfcomp.runtime.queue import WorkQueue
from pfcomp.runtime.tracing import recorded

GROUPS = 4
_FREE: AbstractContextManager[bool] = nullcontext(True)


class Buffer:
    """A range of device DRAM: `size` long words from `base` in every group, freed with the object."""

    __slots__ = ("__weakref__", "base", "size")

    def __init__(self, engine: Engine, size: int, name: str) -> None:
        self.base = engine.allocator.allocate(size, name=name)
        self.size = size
        weakref.finalize(self, engine.allocator.release, self.base).atexit = False


class Engine:
    """Memory and execution of one device. Everything that touches the memory goes through `queue`, in order.

    `counters` counts "uploads" and "downloads" (host to device and back, each with a layout conversion),
    "conversions" (device tensors that had to change layout or type for a consumer), "in_place" (device tensors used
    as they were), "links" (programs relocated and translated) and "runs".
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self.machine = Machine()
        self.allocator = DramAllocator()
        self.queue = WorkQueue(device.text)
        self.counters: Counter[str] = Counter()
        self._boards = candidate_boards(device) if device.kind is DeviceKind.BOARD else ()
        self._fill = board_fill(self._boards[0]) if self._boards else Fill()

    def buffer(self, size: int, name: str) -> Buffer:
        """Reserve `size` long words per group, filled as `gpfn3-smi clear` asked for. Raises DeviceError PF0606."""
        buffer = Buffer(self, size, name)
        if self._fill.wanted:
            self.queue.submit(f"fill of {name}", lambda: self.write(buffer, self._fill.image(GROUPS, size)))
        return buffer

    def load(self, program: Program) -> Executable:
        """Translate a linked program for `run`."""
        self.counters["links"] += 1
        return self.machine.load(program)

    def run(self, executable: Executable) -> RunResult:
        """Run a loaded program now. Only jobs of `queue` whose guard is `held` may call it."""
        self.counters["runs"] += 1
        with recorded(self.device.text, "run"):
            return self.machine.run(executable)

    def held(self, patient: bool) -> AbstractContextManager[bool]:
        """Hold the board. If it is busy: wait and perhaps raise DeviceError PF0605 if `patient`, else give False."""
        if not self._boards:
            return _FREE
        return self._waited_for() if patient else held_now(self._boards)

    @contextmanager
    def _waited_for(self) -> Iterator[bool]:
        with acquired(self._boards):
            yield True

    def announce(self) -> None:
        """Tell the user, once per process, that the board is emulated."""
        if self._boards:
            announce(self._boards[0])

    def write(self, buffer: Buffer, image: NDArray[np.uint64] | Mapping[int, NDArray[np.uint64]]) -> None:
        """Store the (4, size) image, or what `read` has returned. Only jobs of `queue` may call it."""
        for group in range(GROUPS):
            self.machine.dram.write(group, buffer.base, image[group])

    def read(self, buffer: Buffer, groups: Sequence[int] = range(GROUPS)) -> dict[int, NDArray[np.uint64]]:
        """The `size` long words of each of `groups`. Only jobs of `queue` may call it."""
        return {group: self.machine.dram.read(group, buffer.base, buffer.size) for group in groups}


_ENGINES: dict[str, Engine] = {}


def engine_of(device: Device) -> Engine:
    """The process's engine for a device string."""
    if device.text not in _ENGINES:
        _ENGINES[device.text] = Engine(device)
    return _ENGINES[device.text]
