"""MV transfers, spelled out for the C engine as runs of blocks (isa.md 14.2).

A run copies `repeat` blocks of `length` long words from one memory instance to another, or reduces blocks of several
L2BMs to one; source and target addresses advance by `source_step` and `target_step`. DAR indirection and copies inside
one memory instance have no runs: `moves.py` carries them out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pfcomp.emulator.micro import reduction_code
from pfcomp.emulator.rows import TILES
from pfcomp.emulator.sparse import GROUPS
from pfcomp.isa.model import Move, Operand, Place

BLOCK = 16  # long words dealt at a time
_L2BS = 2  # in a group
_ALL, _EACH_GROUP = 0b1111_1111, 0b0101_0101  # L2Bs: all, the first one of each group
INSTANCES = TILES + 2 * GROUPS  # L2BM of each L2B, DRAM and PDM of each group
_FIRST = {Place.L2BM: 0, Place.DRAM: TILES, Place.PDM: TILES + GROUPS}


class Run(NamedTuple):
    """Blocks of `length` long words; `source` and `target` are memory instances, see `INSTANCES`.

    `members` has a bit for each L2B whose blocks are reduced, by the operator `code` (`micro.reduction_code`).
    """

    source: int
    target: int
    source_address: int
    target_address: int
    length: int
    repeat: int = 1
    source_step: int = 0
    target_step: int = 0
    members: int = 0
    code: int = 0


def _base(operand: Operand) -> int:
    return operand.address.base if operand.address else 0


class _Ends:
    """Both ends of a move; makes runs from offsets within the two operands."""

    def __init__(self, move: Move) -> None:
        self.move, self.size = move, move.size
        self._from, self._to = _FIRST[move.source.place], _FIRST[move.destination.place]

    def source(self, group: int | None = None) -> int:
        return _unit(self.move.source, group)

    def target(self, group: int | None = None) -> int:
        return _unit(self.move.destination, group)

    def whole(self, source: int, target: int) -> Run:
        """Everything, from unit to unit."""
        return self.blocks(source, target, self.size)

    def blocks(self, source: int, target: int, length: int, repeat: int = 1, **steps: int) -> Run:
        """Blocks that start `source_offset` and `target_offset` behind the operands' addresses."""
        a = _base(self.move.source) + steps.pop("source_offset", 0)
        b = _base(self.move.destination) + steps.pop("target_offset", 0)
        return Run(self._from + source, self._to + target, a, b, length, repeat, **steps)


def _unit(operand: Operand, group: int | None) -> int:
    chosen = (operand.group or 0) if group is None else group
    return _L2BS * chosen + (operand.l2b or 0) if operand.place == Place.L2BM else chosen


def _gather_groups(e: _Ends) -> list[Run]:
    return [
        e.blocks(
            q, _L2BS * group + c, BLOCK, e.size // (GROUPS * BLOCK),
            source_offset=BLOCK * c, source_step=_L2BS * BLOCK, target_offset=BLOCK * q, target_step=GROUPS * BLOCK,
        )
        for group in range(GROUPS)
        for c in range(_L2BS)
        for q in range(GROUPS)
    ]  # fmt: skip


def _deal(e: _Ends, units: int) -> list[Run]:
    step = units * BLOCK
    return [
        e.blocks(e.source(), u, BLOCK, e.size // step, source_offset=BLOCK * u, source_step=step, target_step=BLOCK)
        for u in range(units)
    ]


def _collect(e: _Ends, units: int) -> list[Run]:
    step = units * BLOCK
    return [
        e.blocks(u, e.target(), BLOCK, e.size // step, source_step=BLOCK, target_offset=BLOCK * u, target_step=step)
        for u in range(units)
    ]


def _reduce(e: _Ends, members: int, first: int, target: int, **steps: int) -> Run:
    """All of the operands, or only blocks where `steps` says so."""
    shape = {"length": e.size, "repeat": 1} | steps
    return e.blocks(first, target, **shape, members=members, code=reduction_code(e.move.reduction or ""))


def _scatter(e: _Ends, members: int, first: int, sets: int) -> list[Run]:
    """Blocks by turns to the groups, where they alternate with those of other sets of L2Bs."""
    step, repeat = GROUPS * BLOCK, e.size // (GROUPS * BLOCK)
    return [
        _reduce(
            e, members, first, q,
            length=BLOCK, repeat=repeat, source_offset=BLOCK * q, source_step=step, target_offset=BLOCK * first,
            target_step=sets * BLOCK,
        )
        for q in range(GROUPS)
    ]  # fmt: skip


def _reduce_groups_scatter(e: _Ends) -> list[Run]:
    return [run for c in range(_L2BS) for run in _scatter(e, _EACH_GROUP << c, c, _L2BS)]


_RUNS: dict[str, Callable[[_Ends], list[Run]]] = {
    "copy": lambda e: [e.whole(e.source(), e.target())],
    "copy-each": lambda e: [e.whole(e.source(group), e.target(group)) for group in range(GROUPS)],
    "broadcast": lambda e: [e.whole(e.source(), l2b) for l2b in range(TILES)],
    "broadcast-group": lambda e: [e.whole(unit // _L2BS, unit) for unit in range(TILES)],
    "gather-groups": _gather_groups,
    "deal-groups": lambda e: _deal(e, GROUPS),
    "collect-groups": lambda e: _collect(e, GROUPS),
    "deal-l2b": lambda e: _deal(e, TILES),
    "collect-l2b": lambda e: _collect(e, TILES),
    "reduce": lambda e: [_reduce(e, _ALL, 0, e.target())],
    "reduce-scatter": lambda e: _scatter(e, _ALL, 0, 1),
    "reduce-group": lambda e: [_reduce(e, 0b11 << _L2BS * g, _L2BS * g, g) for g in range(GROUPS)],
    "reduce-groups-scatter": _reduce_groups_scatter,
}


def runs_of(move: Move, mapping: str) -> list[Run] | None:
    """The runs of a move whose element mapping is `mapping`, None where `moves.execute` must do it."""
    rule = _RUNS.get(mapping)
    if rule is None or move.source.place not in _FIRST or move.destination.place not in _FIRST:
        return None
    runs = rule(_Ends(move))
    return None if any(run.source == run.target for run in runs) else runs
