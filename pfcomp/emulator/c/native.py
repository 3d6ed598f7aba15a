"""Loads the best compiled library and runs packed micro-operations with it."""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.rows import MATRIX_ROW, ROWS, T_ROW, TILES, ZERO_QUAD, Value
from pfcomp.emulator.state import State
from pfcomp.errors import InternalError
from pfcomp.isa.model import Place

LEVELS = ("_baseline", "_avx2", "_avx512")
NAMES = ("baseline", "AVX2", "AVX-512")
SUPPORTED = frozenset(code for code in Code if code < Code.DAR_READ)
_SOURCES, _PARAMS = 3, 16
_OP_INTS = 1 + 8 + 8 * _SOURCES + _PARAMS
_NO_SOURCE = Value(ZERO_QUAD)
_NO_LOW = (-1, -1, -1, -1)
Packed = NDArray[np.int32]


class _Chip(ctypes.Structure):
    _fields_ = (
        ("mem", ctypes.c_void_p),
        ("l1bm", ctypes.c_void_p),
        ("turn", ctypes.c_void_p),
        ("l2bm", ctypes.c_void_p),
        ("rows", ctypes.c_int64),
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
    found = (ctypes.c_int64 * 4)()
    library.pfcomp_layout(found)
    wanted = [4 * _OP_INTS, T_ROW, MATRIX_ROW[Place.MATRIX_X], MATRIX_ROW[Place.MATRIX_Y]]
    if list(found) != wanted:
        raise InternalError("PF0708", "the C engine was built from other sources than this package")


@lru_cache(maxsize=8)
def library(level: int | None = None) -> ctypes.CDLL | None:
    """The library of a level (0 baseline, 1 AVX2, 2 AVX-512), by default the best that exists and runs here."""
    base = _open(LEVELS[0])
    if base is None:
        return None
    best = int(base.pfcomp_best_level())
    for candidate in range(best if level is None else level, -1, -1):
        found = _open(LEVELS[candidate])
        if found is not None and candidate <= best:
            _verify(found)
            found.pfcomp_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int]
            return found
    return None


def describe() -> str:
    """Which engine `engine="auto"` uses, for `pfcomp doctor`."""
    found = library()
    return "numpy (no compiled engine)" if found is None else f"C, {NAMES[int(found.pfcomp_level())]}"


def _flat(value: Value, no_low: tuple[int, int, int, int]) -> tuple[int, ...]:
    return (*value.hi, *(value.lo or no_low))


def _row(micro: Micro) -> tuple[int, ...]:
    dst = _flat(micro.dst, _NO_LOW) if micro.dst else (0, 0, 0, 0, *_NO_LOW)
    sources = [_flat(value, ZERO_QUAD) for value in micro.src]
    sources += [_flat(_NO_SOURCE, ZERO_QUAD)] * (_SOURCES - len(sources))
    params = (*micro.params, *(0,) * (_PARAMS - len(micro.params)))
    return (int(micro.code), *dst, *sources[0], *sources[1], *sources[2], *params)


def pack(micros: tuple[Micro, ...]) -> Packed:
    """Micro-operations as `[operation][49]` int32, the layout of `Op` in engine.h."""
    table = np.array([_row(micro) for micro in micros], dtype=np.int64)
    return np.ascontiguousarray(table.astype(np.uint32).view(np.int32))


def execute(found: ctypes.CDLL, state: State, packed: Packed, threads: int) -> None:
    """Run packed micro-operations on all tiles; tiles are spread over `threads`."""
    chip = _Chip(state.mem.ctypes.data, state.l1bm.ctypes.data, state.turn.ctypes.data, state.l2bm.ctypes.data, ROWS)
    where, count = packed.ctypes.data, len(packed)
    if threads == 1:
        failed = found.pfcomp_run(ctypes.byref(chip), where, count, 0, 1)
    else:
        step = min(threads, TILES)
        with ThreadPoolExecutor(step) as pool:
            jobs = [pool.submit(found.pfcomp_run, ctypes.byref(chip), where, count, i, step) for i in range(step)]
            failed = any(job.result() for job in jobs)
    if failed:
        raise InternalError("PF0709", "the C engine has no memory for decoded matrices")
