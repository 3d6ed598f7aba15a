"""The steps of a node: its body, with pairs of operators replaced that have a recipe of their own."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from pfcomp.ir.model import MNNode


def steps_of(node: MNNode) -> tuple[MNNode, ...]:
    """The body of a fused node or the node itself; Reciprocal of a Sqrt that nothing else reads becomes Rsqrt."""
    if not node.body:
        return (node,)
    reads = Counter(name for step in node.body for name in step.inputs)
    reads.update(node.outputs)
    made = {step.outputs[0]: step for step in node.body}
    rooted = {step.outputs[0]: made[step.inputs[0]] for step in node.body if _inverts_root(step, made, reads)}
    dropped = {root.outputs[0] for root in rooted.values()}
    return tuple(
        replace(step, op="Rsqrt", inputs=rooted[step.outputs[0]].inputs) if step.outputs[0] in rooted else step
        for step in node.body
        if step.outputs[0] not in dropped
    )


def _inverts_root(step: MNNode, made: dict[str, MNNode], reads: Counter[str]) -> bool:
    source = made.get(step.inputs[0])
    return step.op == "Reciprocal" and source is not None and source.op == "Sqrt" and reads[step.inputs[0]] == 1
