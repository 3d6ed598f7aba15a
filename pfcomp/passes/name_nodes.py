"""Gives every node a name of its own: that of its first result."""

from __future__ import annotations

from collections import Counter

import onnx_ir as ir

from pfcomp.passes.base import Pass


def run(model: ir.Model) -> int:
    """Number of nodes that got a name; names that are unique already stay."""
    uses = Counter(node.name for node in model.graph)
    unclear = [node for node in model.graph if not node.name or uses[node.name] > 1]
    taken = {node.name for node in model.graph if node.name and uses[node.name] == 1}
    for node in unclear:
        wanted = next((value.name for value in node.outputs if value.name), node.op_type)
        name, count = str(wanted), 0
        while name in taken:
            count += 1
            name = f"{wanted}_{count}"
        taken.add(name)
        node.name = name
    return len(unclear)


def establishes(model: ir.Model) -> list[str]:
    """Names that are missing or used twice."""
    uses = Counter(node.name for node in model.graph)
    return [f"node name {name!r} is used {count} times" for name, count in uses.items() if not name or count > 1]


PASS = Pass("name_nodes", run, establishes)
