"""Figures of a packed program: totals, per node, memory, and a timeline for Perfetto or chrome://tracing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pfcomp.ir.model import Location, MNGraph, MNNode
from pfcomp.isa.model import Move, Program, Step
from pfcomp.isa.pack import Stats
from pfcomp.plan.model import Schedule
from pfcomp.simulate.timing import Timing

MEGAHERTZ = 750
"""Nominal clock (isa.md 21.1)."""

Origins = Sequence[tuple[str, ...]]
"""For every statement the names of the nodes whose operations are in it."""


def totals(stats: Stats, timing: Timing) -> dict[str, Any]:
    """Figures of the whole program: exact counts of the packed steps, estimated cycles."""
    counted = dict(stats.as_pairs())
    cycles = {"cycles": timing.cycles, "stall_cycles": timing.stalls}
    return {**counted, "critical": stats.critical, **cycles, "microseconds": round(timing.cycles / MEGAHERTZ, 3)}


def node_rows(schedule: Schedule, program: Program, origins: Origins, timing: Timing) -> list[dict[str, Any]]:
    """One row per node in order: steps that hold its operations, its transfers, first and last cycle, live memory."""
    live = _live_words(schedule)
    rows = {n.name: _empty_row(n, live) for n in _all_nodes(schedule)}
    for statement, names, span in zip(program.statements, origins, timing.spans, strict=True):
        for name in names:
            row = rows.setdefault(name, _empty_row(MNNode(name, "Setup", (), ()), live))
            if isinstance(statement, Step):
                row["steps"] += statement.repeat
            elif isinstance(statement, Move):
                row["transfers"] += 1
                row["transferred_words"] += statement.size
            row["first_cycle"] = span.begin if row["first_cycle"] is None else min(row["first_cycle"], span.begin)
            row["last_cycle"] = max(row["last_cycle"] or 0, span.end)
    return list(rows.values())


def _all_nodes(schedule: Schedule) -> list[MNNode]:
    return list(schedule.nodes)


def _empty_row(node: MNNode, live: dict[str, dict[str, int]]) -> dict[str, Any]:
    return {
        "node": node.name,
        "op": node.op,
        "source": node.source,
        "steps": 0,
        "transfers": 0,
        "transferred_words": 0,
        "first_cycle": None,
        "last_cycle": None,
        "live_words": live.get(node.name, {}),
    }


def _live_words(schedule: Schedule) -> dict[str, dict[str, int]]:
    """Long words of LM0 and LM1 that hold values while a node runs: born at or before it, read at or after it."""
    result: dict[str, dict[str, int]] = {}
    parts = [region.nodes for region in schedule.regions] + [tuple(task.node for task in schedule.tasks)]
    for nodes in parts:
        uses = _uses(nodes, schedule.graph)
        for position, node in enumerate(nodes):
            living = [name for name, (birth, death) in uses.items() if birth <= position <= death]
            result[node.name] = {
                lm.value: sum(schedule.graph.values[n].size for n in living if schedule.graph.values[n].location is lm)
                for lm in (Location.LM0, Location.LM1)
            }
    return result


def _uses(nodes: Sequence[MNNode], graph: MNGraph) -> dict[str, tuple[int, int]]:
    uses: dict[str, tuple[int, int]] = {}
    for position, node in enumerate(nodes):
        for name in (*node.inputs, *node.outputs):
            if name in graph.values and graph.values[name].location is not Location.DRAM:
                uses[name] = (uses.get(name, (position, 0))[0], position)
    return uses


def timeline(program: Program, origins: Origins, timing: Timing) -> dict[str, Any]:
    """Chrome trace events: one row for the steps of the nodes, one for the transfers; times in microseconds."""
    events: list[dict[str, Any]] = [_thread_name(0, "steps"), _thread_name(1, "MV transfers")]
    open_run: tuple[tuple[str, ...], int, int] | None = None
    for statement, names, span in zip(program.statements, origins, timing.spans, strict=True):
        if isinstance(statement, Move):
            events.append(_event(1, names, span.begin, span.end))
        elif open_run is not None and open_run[0] == names:
            open_run = (names, open_run[1], span.end)
        else:
            if open_run is not None and open_run[0]:
                events.append(_event(0, *open_run))
            open_run = (names, span.begin, span.end)
    if open_run is not None and open_run[0]:
        events.append(_event(0, *open_run))
    return {"displayTimeUnit": "ns", "traceEvents": events}


def _thread_name(row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "pid": 0, "tid": row, "name": "thread_name", "args": {"name": name}}


def _event(row: int, names: tuple[str, ...], begin: int, end: int) -> dict[str, Any]:
    start = round(begin / MEGAHERTZ, 4)
    length = round((end - begin) / MEGAHERTZ, 4)
    return {"ph": "X", "pid": 0, "tid": row, "name": " + ".join(names), "ts": start, "dur": length}
