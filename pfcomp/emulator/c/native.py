"""Loads the best compiled library and runs packed micro-operations with it."""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pfcomp.emulator.micro import Code, Micro
from pfcomp.emulator.rows import MATRIX_ROW, ROWS, T_ROW, TILES, ZERO_QUAD, Quad
from pfcomp.emulator.state import State
from pfcomp.errors import InternalError
from pfcomp.isa.model import Place

LEVELS = ("_baseline", "_avx2", "_avx512")
NAMES = ("baseline", "AVX2", "AVX-512")
SUPPORTED = frozenset(code for code in Code if code < Code.DAR_READ)
_SOURCES, _PARAMS = 3, 16
_OP_INTS = 1 + 8 + 8 * _SOURCES + _PARAMS
_NO_LOW = (-1, -1, -1, -1)
_WORTH_SHARING = 8  # micro-operations; waking a thread costs about as much as this many
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
            found.pfcomp_run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int, ctypes.c_int]
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


def pack(micros: tuple[Micro, ...]) -> Packed:
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


@lru_cache(maxsize=4)
def _pool(process: int, helpers: int) -> ThreadPoolExecutor:
    """Threads that live as long as `process`: those of a parent are gone after a fork."""
    return ThreadPoolExecutor(helpers, thread_name_prefix=f"pfcomp-tiles-{process}")


def execute(found: ctypes.CDLL, state: State, packed: Packed, threads: int) -> None:
    """Run packed micro-operations on all tiles; tiles are spread over `threads`."""
    chip = _Chip(state.mem.ctypes.data, state.l1bm.ctypes.data, state.turn.ctypes.data, state.l2bm.ctypes.data, ROWS)
    where, count = packed.ctypes.data, len(packed)
    step = min(threads, TILES) if count >= _WORTH_SHARING else 1
    jobs: list[Future[int]] = []
    if step > 1:
        pool = _pool(os.getpid(), step - 1)
        jobs = [pool.submit(found.pfcomp_run, ctypes.byref(chip), where, count, i, step) for i in range(1, step)]
    failed = found.pfcomp_run(ctypes.byref(chip), where, count, 0, step)
    failed += sum(job.result() for job in jobs)  # waits for all of them
    if failed:
        raise InternalError("PF0709", "the C engine has no memory for decoded matrices")
