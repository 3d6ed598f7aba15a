"""Element-wise nodes: one vector (four long words per PE, eight singles) at a time, inner values in registers.

A value of a 64-bit type that goes with 32-bit ones is a pair of vectors: word 0 and word 1 of the 32-bit form. Alone,
or where the words of the 32-bit form hold copies, it is one vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from pfcomp.ir.model import DType, MNNode
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Virtual
from pfcomp.kernels import table
from pfcomp.kernels.fusion import steps_of
from pfcomp.kernels.recipes.counting import CountingEmitter
from pfcomp.kernels.recipes.emitter import Attribute
from pfcomp.kernels.recipes.halves import Halves, run_row
from pfcomp.kernels.recipes.values import MISSING, Immediate, Value, constant
from pfcomp.kernels.recipes.vectors import VectorEmitter, immediate

Source: TypeAlias = Operand | Virtual | tuple[Operand, Operand] | Immediate
Target: TypeAlias = Operand | tuple[Operand, Operand]

Attributes: TypeAlias = Sequence[tuple[str, Attribute]]

__all__ = ["Immediate", "Value", "VectorEmitter", "cost", "emit_vector", "immediate", "refuse"]


def refuse(op: str, inputs: Sequence[DType], output: DType, attributes: Attributes = ()) -> str:
    """Why the operator cannot be done on these element types (missing operands left out), "" if it can."""
    return table.refuse(op, inputs, output, dict(attributes))


def emit_vector(
    emitter: VectorEmitter,
    node: MNNode,
    dtypes: Mapping[str, DType],
    sources: Mapping[str, Source],
    targets: Mapping[str, Target],
) -> None:
    """Compute one vector of an element-wise or fused node.

    `dtypes` has the type of every value of the node and its body; `sources` the operands of every input, or its
    contents if it is an immediate; `targets` the destinations of every output. 64-bit values have two operands each,
    or one each throughout the node.
    """
    emitter.begin_vector()
    vector = _Vector(emitter, dtypes, _words(dtypes, sources, targets), targets)
    for name, source in sources.items():
        vector.values[name] = _halves(source)
    for step in steps_of(node, dtypes):
        vector.run(step)
    emitter.flush()


def _words(dtypes: Mapping[str, DType], sources: Mapping[str, Source], targets: Mapping[str, Target]) -> int:
    """Vectors of a 64-bit value: 1 if one comes as a single vector, else 2."""
    alone = any(dtypes[n].bits == 64 and isinstance(v, Operand) for n, v in [*sources.items(), *targets.items()])
    return 1 if alone else 2


def _halves(source: Source) -> Halves:
    if isinstance(source, Immediate):
        return (constant(source),)
    return source if isinstance(source, tuple) else (source,)


@dataclass(slots=True)
class _Vector:
    """The values of one vector while its steps are emitted."""

    emitter: VectorEmitter
    dtypes: Mapping[str, DType]
    words: int
    targets: Mapping[str, Target]
    values: dict[str, Halves] = field(default_factory=dict)

    def run(self, step: MNNode) -> None:
        name = step.outputs[0]
        types = [self.dtypes[n] for n in step.inputs if n]
        row = table.find(step.op, types, self.dtypes[name])
        if row is None:
            raise ValueError(f"{step.op} of {types} was not refused")
        operands = [self.values[n] if n else (MISSING,) for n in step.inputs]
        target = self.targets.get(name)
        places = () if target is None else target if isinstance(target, tuple) else (target,)

        def done(half: int, value: Value) -> None:
            if places:
                self.emitter.store(value, places[half])

        all_types = [self.dtypes[n] if n else None for n in step.inputs]
        self.values[name] = run_row(self.emitter, row, operands, all_types, dict(step.attributes), self.words, done)


def cost(
    op: str,
    inputs: Sequence[DType],
    output: DType,
    attributes: Attributes = (),
    words: int = 2,
) -> tuple[int, int]:
    """MAU and ALU operations for one vector; `words` long word vectors make up a 64-bit one. Constants are free."""
    row = table.find(op, inputs, output)
    if row is None:
        raise ValueError(f"{op} of {inputs} was not refused")
    emitter = CountingEmitter()
    operands = [emitter.operand(words if t.bits == 64 else 1) for t in inputs]
    run_row(emitter, row, operands, inputs, dict(attributes), words, lambda half, value: None)
    return emitter.mau, emitter.alu
