"""Element-wise nodes: one vector (four long words per PE, eight singles) at a time, inner values in registers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from pfcomp.ir.model import MNNode
from pfcomp.isa.model import Operand, Place
from pfcomp.isa.pack import Builder, Virtual, neg
from pfcomp.kernels.table import ELEMENTWISE

CONSTANT_LIFE = 16
"""Vectors for which a constant keeps its register; then it is loaded anew, which bounds register lifetimes."""

SIGN_BITS = Operand(Place.MSB1)


@dataclass(slots=True)
class Result:
    """The result of an operation that is emitted when the next one comes, or when its destination is known."""

    value: Virtual | None = None


Value: TypeAlias = Operand | Virtual | Result


@dataclass(slots=True)
class _Pending:
    result: Result
    mnemonic: str
    operands: tuple[Operand | Virtual, ...]


class VectorEmitter:
    """Emits the chip operations of recipes; see `pfcomp.kernels.table.Emitter` for what the methods mean.

    The last operation is held back, so that a result can be written to local memory by the very operation that
    computes it.
    """

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.constants: dict[int, Virtual] = {}
        self.vectors = 0
        self.pending: _Pending | None = None

    def begin_vector(self) -> None:
        """Must be called before each vector."""
        if self.vectors % CONSTANT_LIFE == 0:
            self.constants.clear()
        self.vectors += 1

    def op(self, mnemonic: str, *operands: Value) -> Value:
        self.flush()
        self.pending = _Pending(Result(), mnemonic, tuple(map(_plain, operands)))
        return self.pending.result

    def negated(self, value: Value) -> Value:
        self.flush()
        plain = _plain(value)
        return replace(plain, negate=not plain.negate) if isinstance(plain, Operand) else neg(plain)

    def word(self, bits: int) -> Value:
        self.flush()
        if bits not in self.constants:
            self.constants[bits] = self.builder.op(immediate(bits))
        return self.constants[bits]

    def sign_bits(self) -> Value:
        return SIGN_BITS

    def store(self, value: Value, target: Operand) -> None:
        """Write `value` to local memory."""
        if self.pending is not None and value is self.pending.result:
            self.flush(target)
        else:
            self.flush()
            self.builder.op("lpassa", _plain(value), to=target)

    def flush(self, to: Operand | None = None) -> None:
        """Emit the operation that was held back."""
        if self.pending is not None:
            held, self.pending = self.pending, None
            held.result.value = self.builder.op(held.mnemonic, *held.operands, to=to)


def _plain(value: Value) -> Operand | Virtual:
    if not isinstance(value, Result):
        return value
    if value.value is None:
        raise ValueError("a result was used before it was emitted")
    return value.value


def immediate(bits: int) -> str:
    """The operation that makes a 32-bit pattern, written so that a reader sees the number."""
    if bits == 0:
        return "zero"
    value = np.array([bits], np.uint32).view(np.float32)[0]
    normal = 0 < bits >> 23 & 0xFF < 0xFF
    return f'imm f"{value}"' if normal else f'imm ui"{bits:#x}"'


def emit_vector(
    emitter: VectorEmitter, node: MNNode, sources: Mapping[str, Operand | int], targets: Mapping[str, Operand]
) -> None:
    """Compute one vector of an element-wise or fused node.

    `sources` has the operand of every input by its source-graph name, or the bits of an immediate; `targets` the
    destination of every output.
    """
    emitter.begin_vector()
    values: dict[str, Value] = {name: v for name, v in sources.items() if isinstance(v, Operand)}
    words = {name: v for name, v in sources.items() if isinstance(v, int)}
    for step in node.body or (node,):
        operands = [values[name] if name in values else emitter.word(words[name]) for name in step.inputs]
        result = ELEMENTWISE[step.op].recipe(emitter, operands)
        name = step.outputs[0]
        values[name] = result
        if name in targets:
            emitter.store(result, targets[name])
    emitter.flush()
