"""Runs rows on vectors: 64-bit values as one or two vectors of long words, and the ways between 32 and 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from pfcomp.ir.model import DType
from pfcomp.kernels.recipes.emitter import Attributes, Emitter
from pfcomp.kernels.recipes.row import Join, Row
from pfcomp.kernels.recipes.values import MISSING, WORD, Constant, Value

Halves: TypeAlias = tuple[Value, ...]
"""The vectors of a value; a constant has one for all halves."""


def run_row(
    e: Emitter,
    row: Row,
    operands: Sequence[Halves],
    types: Sequence[DType | None],
    attributes: Attributes,
    words: int,
    done: Callable[[int, Value], None],
) -> Halves:
    """Emit a row; calls `done` with every vector of the result as soon as it exists. Types of missing ones are None."""
    if not row.wide:
        result = row.recipe(e, [halves[0] for halves in operands], attributes)
        done(0, result)
        return (result,)
    results = []
    for half in range(words):
        inputs = [_half(e, halves, t, half) for halves, t in zip(operands, types, strict=True)]
        results.append(row.recipe(e, inputs, attributes))
        if row.output.bits == 64:
            done(half, results[-1])
    if row.output.bits == 64:
        return tuple(results)
    joined = _joined(e, row.join, results[0], results[-1])
    done(0, joined)
    return (joined,)


def _half(e: Emitter, halves: Halves, dtype: DType | None, half: int) -> Value:
    """Half of an operand; a 32-bit element is in the high word."""
    if dtype is None:
        return MISSING
    if isinstance(halves[0], Constant):
        return halves[0]
    if dtype.bits == 64:
        return halves[half]
    return halves[0] if half == 0 else e.op("llsl", halves[0], e.word(32))


def _joined(e: Emitter, join: Join, first: Value, second: Value) -> Value:
    """One vector of 32-bit elements: `first` in word 0, `second` in word 1."""
    if join is Join.HIGH:
        return e.op("lor", e.op("land", first, e.l(WORD << 32)), e.op("ullsr", second, e.word(32)))
    low = second if join is Join.LOW_CLEAN else e.op("land", second, e.l(WORD))
    return e.op("lor", e.op("llsl", first, e.word(32)), low)
