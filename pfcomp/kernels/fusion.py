"""The steps of a node: its body, with pairs of operators replaced that have a recipe of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from pfcomp.ir.model import DType, MNNode
from pfcomp.kernels import table


def steps_of(node: MNNode, dtypes: Mapping[str, DType]) -> tuple[MNNode, ...]:
    """The body of a fused node or the node itself; Reciprocal of a Sqrt that nothing else reads becomes Rsqrt.

    `dtypes` has the types of the values in the body; only a single-precision pair has such a recipe.
    """
    if not node.body:
        return (node,)
    reads = Counter(name for step in node.body for name in step.inputs)
    reads.update(node.outputs)
    made = {step.outputs[0]: step for step in node.body}
    rooted = {step.outputs[0]: made[step.inputs[0]] for step in node.body if _inverts_root(step, made, reads, dtypes)}
    dropped = {root.outputs[0] for root in rooted.values()}
    return tuple(
        replace(step, op="Rsqrt", inputs=rooted[step.outputs[0]].inputs) if step.outputs[0] in rooted else step
        for step in node.body
        if step.outputs[0] not in dropped
    )


def _inverts_root(step: MNNode, made: Mapping[str, MNNode], reads: Counter[str], dtypes: Mapping[str, DType]) -> bool:
    source, dtype = made.get(step.inputs[0]), dtypes[step.outputs[0]]
    if table.find("Rsqrt", [dtype], dtype) is None:
        return False
    return step.op == "Reciprocal" and source is not None and source.op == "Sqrt" and reads[step.inputs[0]] == 1
