"""From the filled reservation table to statements."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from pfcomp.isa.model import Move, Op, Operand, Place, Statement, Step

from .micro import NodeInfo
from .nodes import Node
from .rows import Row
from .storage import T_BANK, operand_of
from .values import result_path

NOWRITE = (Operand(Place.NOWRITE),)
Attributed = tuple[Statement, tuple[str, ...], int]
"""A statement, the names of the graph nodes it belongs to, the emitted move that it is (-1: none)."""


def statements(rows: list[Row], nodes: tuple[NodeInfo, ...]) -> Iterator[Attributed]:
    """The statements of all rows; consecutive empty rows become one `nop/N`."""
    nops = 0
    for row in rows:
        if not (row.ops or row.wait or row.moves):
            nops += 1
            continue
        if nops:
            yield Step(repeat=nops), (), -1
            nops = 0
        for flight in row.moves:
            move: Move = replace(flight.micro.move, tag=flight.tag)
            yield move, _names([flight.micro.node], nodes), flight.micro.index
        if not (row.ops or row.wait):  # only moves: its step is a nop, which joins those that follow
            nops = 1
            continue
        waits = (row.wait.tag,) if row.wait is not None else ()
        ops = tuple(sorted((_final(node, sources) for node, sources in row.ops), key=_issue_order))
        origins = [node.micro.node for node, _ in row.ops if node.micro is not None]
        yield Step(ops, waits), _names(origins, nodes), -1
    if nops:
        yield Step(repeat=nops), (), -1


def _names(origins: list[int], nodes: tuple[NodeInfo, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(nodes[k].name for k in sorted(origins) if k >= 0))


_ORDER = ("mau-calc", "mau-mwrite", "mau-mread", "alu", "l1bm", "l1bm-turnaround", "l2bm", "l2bmdarw")


def _issue_order(op: Op) -> int:
    return _ORDER.index(op.unit.value)


def _final(node: Node, sources: tuple[Operand, ...]) -> Op:
    """The operation with its sources and with the registers that later operations read."""
    if node.micro is None:
        raise TypeError("a join cannot be printed")
    op = node.micro.op
    targets = op.destinations
    value = node.value
    if value is not None and value.read:
        plain = replace(value.virtual, negate=False, suffix="")
        targets += tuple(operand_of(value, plain, bank) for bank in range(T_BANK + 1) if value.read >> bank & 1)
    if not targets and result_path(op) is not None:
        targets = NOWRITE
    return Op(
        op.unit, op.name, op.precision, op.unsigned, op.half_select, op.narrow, op.mantissa, op.zero_flush,
        op.reduction, op.select, op.shift, op.l1b_set, op.immediate, sources if node.uses else op.sources, targets,
    )  # fmt: skip
