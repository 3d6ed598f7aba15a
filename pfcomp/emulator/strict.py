"""Strict mode: reads of places that nothing has written, stale forwarding paths, misaligned run-time addresses.

Findings are reported once for each line and place, in the order in which they happen. They are hints: PE memories
start as zero on the chip, and hand-written programs rely on it.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from pfcomp.emulator.lower.step import path_of
from pfcomp.emulator.micro import Code, L1Kind, L2Kind, Micro
from pfcomp.emulator.numpy_engine.copies import addresses
from pfcomp.emulator.numpy_engine.l1bm import PER_CYCLE
from pfcomp.emulator.rows import MEMORIES, ROWS, T_ROW, TILES, Quad
from pfcomp.emulator.state import L1BM_LW, L2BM_LW, State
from pfcomp.isa.model import CYCLES, Place, Program, Step

_PATHS = frozenset({Place.MAUF, Place.ALUF, Place.LBF, Place.MREADF})
_FIRST_INTERNAL = T_ROW + 2 * CYCLES  # masks, matrices, constants and scratch are not watched
_BLOCK = 16  # off-chip memories are watched in units of 16 LW


def stale_paths(program: Program) -> list[str]:
    """Reads of a forwarding path that was not updated by the last step that is not a nop (isa.md 8)."""
    age: dict[Place, int] = dict.fromkeys(_PATHS, -1)
    findings, now = [], 0
    for statement in program.statements:
        if not isinstance(statement, Step) or not statement.ops:
            continue
        now += 1
        for place in sorted({s.place for op in statement.ops for s in op.sources} & _PATHS):
            if age[place] != now - 1:
                findings += [f"line {statement.line}: ${place} is stale: the step before did not update it"]
        if statement.noforward:
            age = {place: made + 1 if made == now - 1 else made for place, made in age.items()}
        else:
            age |= {path: now for op in statement.ops if (path := path_of(op)) is not None}
    return findings


class Watch:
    """Remembers which places have been written since the last reset."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._mem = np.zeros((TILES, ROWS), bool)
        self._mem[:, _FIRST_INTERNAL:] = True
        self._l1bm = np.zeros(L1BM_LW, bool)
        self._l2bm = np.zeros((TILES, L2BM_LW), bool)
        self._blocks: dict[Place, set[tuple[int, int]]] = {Place.DRAM: set(), Place.PDM: set()}
        self.line = 0
        self.findings: dict[str, None] = {}
        for place, memory in ((Place.DRAM, state.dram), (Place.PDM, state.pdm)):
            memory.on_read = partial(self.memory_read, place)
            memory.on_write = partial(self.memory_wrote, place)

    def _report(self, text: str) -> None:
        self.findings.setdefault(f"line {self.line}: {text}")

    def before(self, micro: Micro) -> None:
        """Look at what a micro-operation is going to read."""
        self.line = micro.line
        for value in micro.src:
            for quad in (value.hi, value.lo):
                if quad:
                    self._rows_read(quad)
        if micro.code in (Code.GATHER, Code.SCATTER):
            self._run_time_addresses(micro)
        elif micro.code == Code.L1_DOWN and not micro.params[4]:
            self._span_read(self._l1bm, micro.params[1], self._l1_span(micro), "L1BM")
        elif micro.code == Code.L2 and micro.params[0] in (L2Kind.BROADCAST, L2Kind.BROADCAST2, L2Kind.SPREAD):
            self._span_read(np.asarray(self._l2bm.all(axis=0)), micro.params[1], self._l2_span(micro), "L2BM")
        elif micro.code == Code.L2:
            address = micro.params[1] if micro.params[0] == L2Kind.INTERNAL else micro.params[2]
            self._span_read(self._l1bm, address, 32 if micro.params[0] == L2Kind.COLLECT else 64, "L1BM")

    def after(self, micro: Micro) -> None:
        """Note what a micro-operation has written."""
        if micro.dst:
            for quad in (micro.dst.hi, micro.dst.lo):
                if quad:
                    self._mem[:, list(quad)] = True
        if micro.code == Code.SCATTER:
            rows = micro.params[0] + (addresses(self._state, micro.params) >> np.uint64(1)).astype(int)
            self._mem[:, np.unique(rows)] = True
        elif micro.code == Code.L1_UP and micro.params[1] >= 0:
            self._mark(self._l1bm, micro.params[1], self._l1_span(micro))
        elif micro.code == Code.L2 and micro.params[0] in (
            L2Kind.BROADCAST, L2Kind.BROADCAST2, L2Kind.SPREAD, L2Kind.INTERNAL,
        ):  # fmt: skip
            self._mark(self._l1bm, micro.params[2], 32 if micro.params[0] == L2Kind.SPREAD else 64)
        elif micro.code == Code.L2:
            self._mark(self._l2bm, micro.params[1], self._l2_span(micro))

    def memory_read(self, place: Place, unit: int, address: int, count: int) -> None:
        """An MV reads `count` LW of L2BM, DRAM or PDM."""
        if place == Place.L2BM:
            self._span_read(self._l2bm[unit], address, count, f"L2BM {unit}")
        elif any((unit, b) not in self._blocks[place] for b in self._units(address, count)):
            self._report(f"{place.name} of group {unit}, LW {address}+{count}, is read but was never written")

    def memory_wrote(self, place: Place, unit: int, address: int, count: int) -> None:
        """An MV or the host wrote `count` LW."""
        if place == Place.L2BM:
            self._mark(self._l2bm[unit], address, count)
        else:
            self._blocks[place].update((unit, b) for b in self._units(address, count))

    def place_written(self, place: Place) -> None:
        """`d set` wrote to a memory: count all of it as written."""
        if place in MEMORIES:
            base, words = MEMORIES[place]
            self._mem[:, base : base + words // 2] = True
        elif place == Place.T:
            self._mem[:, T_ROW : T_ROW + 2 * CYCLES] = True
        elif place == Place.L1BM:
            self._l1bm[:] = True
        elif place == Place.L2BM:
            self._l2bm[:] = True

    @staticmethod
    def _units(address: int, count: int) -> range:
        return range(address // _BLOCK, (address + count - 1) // _BLOCK + 1)

    @staticmethod
    def _l1_span(micro: Micro) -> int:
        return CYCLES * PER_CYCLE[L1Kind(micro.params[0])] * (2 if micro.params[2] else 1)

    @staticmethod
    def _l2_span(micro: Micro) -> int:
        return 64 if micro.params[0] in (L2Kind.BROADCAST, L2Kind.TAKE, L2Kind.REDUCE) else 256

    def _rows_read(self, quad: Quad) -> None:
        missing = [row for row in sorted(set(quad)) if not self._mem[:, row].all()]
        for place, (base, words) in MEMORIES.items():
            found = [2 * (row - base) for row in missing if base <= row < base + words // 2]
            if found:
                self._report(f"{place.name} words {found} are read but were never written")
        if any(T_ROW <= row < T_ROW + 2 * CYCLES for row in missing):
            self._report("T is read but was never written")

    def _span_read(self, written: np.ndarray, address: int, count: int, name: str) -> None:
        if not written[(address + np.arange(count)) % len(written)].all():
            self._report(f"{name} LW {address}+{count} is read but was never written")

    def _mark(self, written: np.ndarray, address: int, count: int) -> None:
        written[..., (address + np.arange(count)) % written.shape[-1]] = True

    def _run_time_addresses(self, micro: Micro) -> None:
        width = micro.params[2]
        exact = addresses(self._state, (*micro.params[:2], 1, *micro.params[3:10]))
        if micro.params[8] >= 0:  # `j` adds the access width, which the line above took as one word
            exact = addresses(self._state, (*micro.params[:2], 1, *micro.params[3:8], -1, micro.params[9]))
        if (exact % np.uint64(width)).any():
            self._report("a run-time address is not aligned to the access width; its low bits are ignored")
        if micro.code == Code.GATHER:
            rows = micro.params[0] + (exact >> np.uint64(1)).astype(int)
            if not self._mem[:, np.unique(rows)].all():
                self._report("per-PE addresses read words that were never written")
