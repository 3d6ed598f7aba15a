"""The steps of a node: its body, with pairs of operators replaced that have a recipe of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels import table
from pfcomp.kernels.recipes.condition import COMPARISONS
from pfcomp.kernels.recipes.relations import JOINT


def steps_of(node: MNNode, dtypes: Mapping[str, DType]) -> tuple[MNNode, ...]:
    """The body of a fused node or the node itself, with pairs joined; `dtypes` has the types of all values.

    A Reciprocal of a Sqrt that nothing else reads becomes Rsqrt. A Where or Cast of a comparison takes the operands of
    the comparison, which costs it no more than reading the Bool.
    """
    if not node.body:
        return (node,)
    reads = Counter(name for step in node.body for name in step.inputs)
    reads.update(node.outputs)
    made = {step.outputs[0]: step for step in node.body}
    joined = []
    for step in node.body:
        pair = _rooted(step, made, reads) or _compared(step, made)
        if pair is None or not _exists(pair, dtypes):
            joined.append(step)
            continue
        joined.append(pair)
        reads[step.inputs[0]] -= 1
    return tuple(step for step in joined if reads[step.outputs[0]])


def _exists(step: MNNode, dtypes: Mapping[str, DType]) -> bool:
    """True if there is a recipe for these types."""
    return table.find(step.op, [dtypes[name] for name in step.inputs], dtypes[step.outputs[0]]) is not None


def _rooted(step: MNNode, made: Mapping[str, MNNode], reads: Counter[str]) -> MNNode | None:
    source = made.get(step.inputs[0])
    if step.op != "Reciprocal" or source is None or source.op != "Sqrt" or reads[step.inputs[0]] > 1:
        return None
    return replace(step, op="Rsqrt", inputs=source.inputs)


def _compared(step: MNNode, made: Mapping[str, MNNode]) -> MNNode | None:
    source = made.get(step.inputs[0])
    if step.op not in ("Where", "Cast") or source is None or source.op not in COMPARISONS:
        return None
    return replace(step, op=f"{source.op}{JOINT}{step.op}", inputs=(*source.inputs, *step.inputs[1:]))
