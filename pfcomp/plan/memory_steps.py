"""What the places of values in local memory cost and save, in steps: transfers more, and transfers beside products."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.ir.model import MNGraph
from pfcomp.kernels.api import Spec
from pfcomp.plan.beside import groups
from pfcomp.plan.costs import load_steps, store_steps
from pfcomp.plan.linear import Linear
from pfcomp.plan.tasks import Task


def placing_steps(linear: Linear, tasks: Sequence[Task], graph: MNGraph) -> int:
    """Steps beyond those of the plan: of transfers that are there because memory was full, less those that are hidden.

    A product hides transfers for as many steps as it leaves L2BM to others.
    """
    free = {item.node.name: item.free for item in linear.items}
    added = sum(_steps(task, graph) for task in tasks if task.node.name not in free)
    beside = ((free.get(task.node.name, 0), transfers) for task, transfers in groups(tasks, graph) if transfers)
    return added - sum(min(room, sum(_steps(t, graph) for t in transfers)) for room, transfers in beside)


def _steps(task: Task, graph: MNGraph) -> int:
    store = task.node.op == "Upload"
    value = graph.values[(task.node.inputs if store else task.node.outputs)[0]]
    spec = Spec(value.shape, value.dtype)
    return store_steps(spec, value.layout) if store else load_steps(spec, value.layout)
