"""Element-wise nodes: one vector (four long words per PE, eight singles) at a time, inner values in registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

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


Value = Operand | Virtual | Result


class VectorEmitter:
    """Emits the chip operations of recipes; see `pfcomp.kernels.table.Emitter` for what the methods mean."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self.constants: dict[int, Virtual] = {}
        self.vectors = 0
        self.pending: tuple[Result, str, tuple[Operand | Virtual, ...]] | None = None

    def begin_vector(self) -> None:
        """Must be called before each vector."""
        if self.vectors % CONSTANT_LIFE == 0:
            self.constants.clear()
        self.vectors += 1

    def op(self, mnemonic: str, *operands: Value) -> Value:
        self._flush()
        result = Result()
        self.pending = (result, mnemonic, self._through_ports(operands))
        return result

    def negated(self, value: Value) -> Value:
        self._flush()
        plain = _plain(value)
        return replace(plain, negate=not plain.negate) if isinstance(plain, Operand) else neg(plain)

    def word(self, bits: int) -> Value:
        self._flush()
        if bits not in self.constants:
            self.constants[bits] = self.builder.op(immediate(bits))
        return self.constants[bits]

    def sign_bits(self) -> Value:
        return SIGN_BITS

    def store(self, value: Value, target: Operand) -> Value:
        """Write `value` to local memory and return something that later operations can read in its place."""
        if self.pending is not None and value is self.pending[0] and not _conflicts(self.pending[2], target):
            result, mnemonic, operands = self.pending
            result.value = self.builder.op(mnemonic, *operands, to=target)
            self.pending = None
            return result
        self._flush()
        plain = _plain(value)
        source = self._copied(plain) if isinstance(plain, Operand) and _conflicts((plain,), target) else plain
        self.builder.op("lpassa", source, to=target)
        return value

    def finish(self) -> None:
        """Emit what is still pending; its result goes nowhere else."""
        self._flush()

    def _flush(self) -> None:
        if self.pending is not None:
            result, mnemonic, operands = self.pending
            result.value = self.builder.op(mnemonic, *operands)
            self.pending = None

    def _copied(self, operand: Operand) -> Virtual:
        return self.builder.op("lpassa", replace(operand, negate=False))

    def _through_ports(self, values: Sequence[Value]) -> tuple[Operand | Virtual, ...]:
        """Copy operands so that each memory is read at one set of addresses only (isa.md 16, rule 5)."""
        taken: dict[Place, Operand] = {}
        result: list[Operand | Virtual] = []
        for value in map(_plain, values):
            if isinstance(value, Operand) and value.address is not None:
                first = taken.setdefault(value.place, value)
                if first.address != value.address:
                    copy = self._copied(value)
                    result.append(neg(copy) if value.negate else copy)
                    continue
            result.append(value)
        return tuple(result)


def _plain(value: Value) -> Operand | Virtual:
    if not isinstance(value, Result):
        return value
    if value.value is None:
        raise ValueError("a result was used before it was emitted")
    return value.value


def _conflicts(operands: Sequence[Operand | Virtual], target: Operand) -> bool:
    """True if an operation cannot read `operands` and write `target`: one memory at two sets of addresses."""
    memories = (o for o in operands if isinstance(o, Operand) and o.place is target.place)
    return any(o.address != target.address for o in memories)


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
        values[name] = emitter.store(result, targets[name]) if name in targets else result
    emitter.finish()
