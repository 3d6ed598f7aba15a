"""Loads the best compiled library and runs packed micro-operations with it."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.phases import TABLE_COLUMNS, Table
from pfcomp.emulator.rows import MATRIX_ROW, ROWS, T_ROW, TILES, ZERO_QUAD, Quad
from pfcomp.emulator.runs import INSTANCES
from pfcomp.emulator.sparse import GROUPS, reserve
from pfcomp.emulator.state import State, Words
from pfcomp.errors import InternalError
from pfcomp.isa.model import Place

LEVELS = ("_baseline", "_avx2", "_avx512")
NAMES = ("baseline", "AVX2", "AVX-512")
_SOURCES, _PARAMS = 3, 16
_OP_INTS = 1 + 8 + 8 * _SOURCES + _PARAMS
_NO_LOW = (-1, -1, -1, -1)
_WORTH_SHARING = 8  # micro-operations; waking threads costs about as much as this many
Packed = NDArray[np.int32]


class _Chip(ctypes.Structure):
    _fields_ = (
        ("mem", ctypes.c_void_p),
        ("l1bm", ctypes.c_void_p),
        ("turn", ctypes.c_void_p),
        ("l2bm", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
        ("matrices", ctypes.c_void_p),
        ("memory", ctypes.c_void_p * INSTANCES),
        ("size", ctypes.c_int64 * INSTANCES),
    )


def _path(name: str) -> Path | None:
    folder = Path(__file__).parent
    return next((folder / (name + s) for s in EXTENSION_SUFFIXES if (folder / (name + s)).is_file()), None)


def _open(name: str) -> ctypes.CDLL | None:
    path = _path(name)
    if path is None:
        return None
    try:
        return ctypes.CDLL(str(path))
    except OSError:
        return None  # built for another system: the numpy engine does the work


def _verify(library: ctypes.CDLL) -> None:
    """The library must agree with Python about sizes and row numbers."""
    wanted = [4 * _OP_INTS, T_ROW, MATRIX_ROW[Place.MATRIX_X], MATRIX_ROW[Place.MATRIX_Y], ctypes.sizeof(_Chip)]
    wanted += [8 * columns for columns in TABLE_COLUMNS]
    found = (ctypes.c_int64 * len(wanted))()
    library.pfcomp_layout(found)
    if list(found) != wanted:
        raise InternalError("PF0708", "the C engine was built from other sources than this package")


@lru_cache(maxsize=8)
def compiled(level: int | None = None) -> ctypes.CDLL | None:
    """The library of a level (0 baseline, 1 AVX2, 2 AVX-512), by default the best that exists and runs here."""
    base = _open(LEVELS[0])
    if base is None:
        return None
    best = int(base.pfcomp_best_level())
    for candidate in range(best if level is None else level, -1, -1):
        found = _open(LEVELS[candidate])
        if found is not None and candidate <= best:
            _verify(found)
            found.pfcomp_program.argtypes = [*(ctypes.c_void_p,) * 5, ctypes.c_int64, ctypes.c_int]
            found.pfcomp_program.restype = None
            found.pfcomp_forget.argtypes = [ctypes.c_void_p]
            found.pfcomp_forget.restype = None
            found.pfcomp_matrices_size.restype = ctypes.c_int64
            return found
    return None


def describe() -> str:
    """Which engine `engine="auto"` uses, for `pfcomp doctor`."""
    found = compiled()
    return "numpy (no compiled engine)" if found is None else f"C, {NAMES[int(found.pfcomp_level())]}"


@lru_cache(maxsize=4096)
def _bytes(rows: Quad) -> bytes:
    return struct.pack("4i", *rows)


@lru_cache(maxsize=4096)
def _tail(params: tuple[int, ...]) -> bytes:
    """Parameters as 16 words; those above 2^31 are bit patterns."""
    return b"".join((p & 0xFFFF_FFFF).to_bytes(4, sys.byteorder) for p in params).ljust(4 * _PARAMS, b"\0")


_CODES = {code: struct.pack("i", code) for code in Code}
_NO_DESTINATION = _bytes((0, 0, 0, 0)) + _bytes(_NO_LOW)
_ZERO = _bytes(ZERO_QUAD)
_MISSING = tuple(2 * n * _ZERO for n in range(_SOURCES + 1))


def pack(micros: Sequence[Micro]) -> Packed:
    """Micro-operations as `[operation][49]` int32, the layout of `Op` in engine.h."""
    parts: list[bytes] = []
    for code, dst, sources, params, _ in micros:
        parts.append(_CODES[code])
        if dst is None:
            parts.append(_NO_DESTINATION)
        else:
            parts += (_bytes(dst.hi), _bytes(dst.lo or _NO_LOW))
        for high, low in sources:
            parts += (_bytes(high), _bytes(low) if low else _ZERO)
        parts += (_MISSING[_SOURCES - len(sources)], _tail(params))
    return np.frombuffer(b"".join(parts), dtype=np.int32).reshape(len(micros), _OP_INTS)


class Chip:
    """What the C engine knows about a chip: where its memories lie, and its decoded matrix registers."""

    def __init__(self, library: ctypes.CDLL, state: State) -> None:
        self._library, self._state = library, state
        try:
            self._matrices = reserve(int(library.pfcomp_matrices_size()) // 8)
        except OSError as error:
            raise InternalError("PF0709", "the C engine has no memory for decoded matrices") from error
        arrays = (state.mem, state.l1bm, state.turn, state.l2bm)
        self._chip = _Chip(*(array.ctypes.data for array in arrays), ROWS, self._matrices.ctypes.data)
        for l2b in range(TILES):
            self._place(l2b, state.l2bm[l2b])
        self.forget_matrices()

    def _place(self, instance: int, array: Words) -> None:
        self._chip.memory[instance], self._chip.size[instance] = array.ctypes.data, len(array)

    def forget_matrices(self) -> None:
        """Matrix registers may have been written from outside: decode them again when they are used."""
        self._library.pfcomp_forget(ctypes.byref(self._chip))

    def find_memories(self) -> None:
        """DRAM and PDM may have been reset since the last run."""
        for first, memory in ((TILES, self._state.dram), (TILES + GROUPS, self._state.pdm)):
            for group in range(GROUPS):
                self._place(first + group, memory.array(group))

    def run(self, ops: Packed, runs: Table, parts: Table, phases: Table, threads: int) -> None:
        """Operations and moves by turns, see `Batch`; L2Bs are spread over `threads`."""
        if len(runs):
            self.find_memories()
        if len(ops) < _WORTH_SHARING:
            threads = 1
        tables = (table.ctypes.data for table in (ops, runs, parts, phases))
        self._library.pfcomp_program(ctypes.byref(self._chip), *tables, len(phases), threads)
