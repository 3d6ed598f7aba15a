"""Interprets micro-operations with numpy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pfcomp.emulator.micro import Code, Format, Micro, VectorOp
from pfcomp.emulator.numpy_engine import alu, blockfloat, copies, halves, l1bm, l2bm, matrix, mau_double, mau_single
from pfcomp.emulator.numpy_engine.access import SHAPE, read, read_low, write
from pfcomp.emulator.state import State

_DOUBLE_SIGN = np.uint64(1 << 63)


def _vector_double(state: State, micro: Micro) -> None:
    op, _, negate, narrow, half_select = micro.params
    operands = [read(state, value.hi) for value in micro.src]
    flipped = [o ^ _DOUBLE_SIGN if negate >> i & 1 else o for i, o in enumerate(operands)]
    result = mau_double.vector(VectorOp(op), flipped, half_select, bool(narrow))
    if micro.dst:
        write(state, micro.dst.hi, np.broadcast_to(result << np.uint64(32) if narrow else result, SHAPE))


def _flip(lanes: Any, negate: int, index: int) -> Any:
    return lanes ^ np.uint32(1 << 31) if negate >> index & 1 else lanes


def _vector_single(state: State, micro: Micro) -> None:
    op, _, negate, narrow, _ = micro.params
    operands = [np.ascontiguousarray(read(state, v.hi)).view(np.uint32) for v in micro.src]
    flipped = [_flip(o, negate, i) for i, o in enumerate(operands)]
    result = mau_single.vector(VectorOp(op), flipped, approximate=True, narrow=bool(narrow))
    data = halves.pack_pair(result) if narrow else np.ascontiguousarray(result).view(np.uint64)
    if micro.dst:
        write(state, micro.dst.hi, np.broadcast_to(data, SHAPE))


def _vector_half(state: State, micro: Micro) -> None:
    op, _, negate, narrow, _ = micro.params
    addends = 1 if op in (VectorOp.FMA, VectorOp.ADD) else 0
    pairs = [halves.split_halves(read(state, v.hi)) for v in micro.src[: len(micro.src) - addends]]
    for value in micro.src[len(pairs) :]:
        parts = (read(state, value.hi), read_low(state, value))
        pairs.append(tuple(np.ascontiguousarray(part).view(np.uint32) for part in parts))  # type: ignore[arg-type]
    results = []
    for part in range(2):
        operands = [_flip(pair[part], negate, i) for i, pair in enumerate(pairs)]
        results.append(mau_single.vector(VectorOp(op), operands, approximate=False, narrow=bool(narrow)))
    if micro.dst is None:
        return
    if narrow:
        write(state, micro.dst.hi, np.broadcast_to(halves.join_halves(*results), SHAPE))
        return
    for quad, result in zip((micro.dst.hi, micro.dst.lo), results, strict=True):
        if quad:
            write(state, quad, np.broadcast_to(np.ascontiguousarray(result).view(np.uint64), SHAPE))


_VECTORS = {Format.D: _vector_double, Format.F: _vector_single, Format.H: _vector_half}


def _vector(state: State, micro: Micro) -> None:
    _VECTORS[Format(micro.params[1])](state, micro)


HANDLERS: dict[Code, Callable[[State, Micro], None]] = {
    Code.COPY: copies.copy,
    Code.LOAD_WORD: copies.load_word,
    Code.STORE_WORD: copies.store_word,
    Code.GATHER: copies.gather,
    Code.SCATTER: copies.scatter,
    Code.FLUSH: copies.flush,
    Code.FILL: copies.fill,
    Code.STORE_MASK: copies.store_mask,
    Code.SET_BAR: copies.set_bar,
    Code.WIDEN: halves.convert,
    Code.NEGATE: halves.negate,
    Code.ALU: alu.run,
    Code.FLAG: alu.flags,
    Code.SHIFT_PE: alu.shift_pe,
    Code.BLOCK: blockfloat.run,
    Code.VECTOR: _vector,
    Code.MATVEC: matrix.matvec,
    Code.MREAD: matrix.mread,
    Code.L1_DOWN: l1bm.down,
    Code.L1_UP: l1bm.up,
    Code.L2: l2bm.run,
    Code.DAR_READ: l2bm.read_addresses,
    Code.DAR_WRITE: l2bm.write_addresses,
}


def interpret(state: State, micros: Iterable[Micro]) -> None:
    """Execute micro-operations in order."""
    with np.errstate(all="ignore"):
        for micro in micros:
            HANDLERS[micro.code](state, micro)
