"""Transfers that run beside a matrix product: loads of what comes next, stores of what came before (design.md 6.4).

A product leaves many steps of L2BM to others. `memory` orders tasks so that loads stand before a product that does not
need them and stores behind one that did not make their value; here they are found, to be emitted in turns with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from pfcomp.ir.model import Location, MNGraph, MNValue
from pfcomp.kernels.transfer import needs_gathering
from pfcomp.layout import Layout
from pfcomp.layout.extents import used_bits
from pfcomp.layout.model import Level
from pfcomp.plan.tasks import Task

Group = tuple[Task, tuple[Task, ...]]
"""A task, and the transfers that run beside it."""


def can_run_beside(op: str) -> bool:
    """True for operators whose kernel shares L2BM with transfers."""
    return op == "MatMul"


def groups(tasks: Sequence[Task], graph: MNGraph) -> Iterator[Group]:
    """All tasks, each product with the loads before it and the stores behind it that have nothing to do with it."""
    number, loads = 0, list[Task]()
    while number < len(tasks):
        task = tasks[number]
        number += 1
        if task.node.op == "Download":
            loads.append(task)
            continue
        shares = _shares(task, graph)
        stores = list(takewhile(lambda t: t.node.op == "Upload", tasks[number:])) if shares else []
        beside = tuple(t for t in (*loads, *stores) if shares and _independent(t, task, graph))
        yield from _alone(t for t in loads if t not in beside)
        yield task, beside
        yield from _alone(t for t in stores if t not in beside)
        number, loads = number + len(stores), []
    yield from _alone(loads)


def _alone(tasks: Iterable[Task]) -> Iterator[Group]:
    return ((task, ()) for task in tasks)


def _shares(task: Task, graph: MNGraph) -> bool:
    """True for products that send nothing between L2Bs."""
    if not can_run_beside(task.node.op):
        return False
    depth = graph.values[task.node.inputs[0]].layout.axes[-1]
    return not used_bits(Layout((depth,)), Level.L2B)


def _independent(transfer: Task, task: Task, graph: MNGraph) -> bool:
    """True if a transfer touches no place of the task and needs no register."""
    moved = _local(transfer, graph)
    if transfer.node.op == "Upload" and needs_gathering(graph.values[transfer.node.inputs[0]]):
        return False
    return not any(overlap(a, b) for a in moved for b in _local(task, graph))


def _local(task: Task, graph: MNGraph) -> list[MNValue]:
    """The values of a task that lie in local memory."""
    names = (*task.node.inputs, *task.node.outputs, *task.scratch, *task.tables)
    values = (graph.values[name] for name in names if name in graph.values)
    return [value for value in values if value.location is not Location.DRAM]


def overlap(a: MNValue, b: MNValue) -> bool:
    """True if two values in local memory have a long word in common."""
    first, second = a.address or 0, b.address or 0
    return a.location is b.location and first < second + b.size and second < first + a.size
