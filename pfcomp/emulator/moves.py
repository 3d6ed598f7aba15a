"""MV transfers between DRAM, PDM and L2BM, done at once (isa.md 14); shared by both engines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pfcomp.emulator.micro import reduction_code
from pfcomp.emulator.numpy_engine.l2bm import load, store
from pfcomp.emulator.numpy_engine.reduce import reduce
from pfcomp.emulator.rows import TILES
from pfcomp.emulator.sparse import GROUPS
from pfcomp.emulator.state import DAR_ENTRIES, State, Words
from pfcomp.emulator.strict import Watch
from pfcomp.errors import SourceError
from pfcomp.isa.model import Move, Operand, Place
from pfcomp.isa.tables import find_move_form

BLOCK = 16  # long words of one DRAM access, of one DAR entry and of one piece of a round robin
_L2BS = 2  # in a group


def _ids(operand: Operand) -> str:
    group, l2b = operand.group is not None, operand.l2b is not None
    return {(False, False): "", (True, False): "@n", (True, True): "@n.c", (False, True): "@.c"}[group, l2b]


def _base(operand: Operand) -> int:
    return operand.address.base if operand.address else 0


class _Side:
    """One operand of a move: reads and writes runs of long words of one memory instance.

    `unit` is the group for DRAM and PDM, the L2B (0..7) for L2BM.
    """

    def __init__(self, state: State, operand: Operand, run: int, watch: Watch | None) -> None:
        self.state, self.operand, self.run, self.watch = state, operand, run, watch
        self.base = _base(operand)

    def get(self, unit: int, count: int) -> Words:
        place = self.operand.place
        if place == Place.L2BM:
            if self.watch is not None:
                self.watch.memory_read(place, unit, self.base, count)
            return load(self.state.l2bm[unit], self.base % self.state.l2bm.shape[-1], count)
        if place == Place.DRAM_INDIRECT:
            pieces = [self.state.dram.read(unit, a, n) for a, n in self._blocks(unit, count)]
            return np.concatenate(pieces)
        memory = self.state.dram if place == Place.DRAM else self.state.pdm
        return memory.read(unit, self.base % memory.size, count)

    def put(self, unit: int, data: Words) -> None:
        place = self.operand.place
        if place == Place.L2BM:
            store(self.state.l2bm[unit], self.base % self.state.l2bm.shape[-1], data)
            if self.watch is not None:
                self.watch.memory_wrote(place, unit, self.base, len(data))
        elif place == Place.DRAM_INDIRECT:
            done = 0
            for address, count in self._blocks(unit, len(data)):
                self.state.dram.write(unit, address, data[done : done + count])
                done += count
        else:
            memory = self.state.dram if place == Place.DRAM else self.state.pdm
            memory.write(unit, self.base % memory.size, data)

    def _blocks(self, group: int, count: int) -> list[tuple[int, int]]:
        """Addresses and lengths behind `$di`: block j lies at 16·DAR[e + j/N] + 16·(j mod N) (UNCERTAIN for N > 1)."""
        blocks = []
        for j in range(-(-count // BLOCK)):
            entry = int(self.state.dar[group, (self.base + j // self.run) % DAR_ENTRIES])
            address = BLOCK * (entry + j % self.run) % self.state.dram.size
            blocks.append((address, min(BLOCK, count - BLOCK * j)))
        return blocks


def _unit(operand: Operand, group: int | None = None) -> int:
    chosen = (operand.group or 0) if group is None else group
    return _L2BS * chosen + (operand.l2b or 0) if operand.place == Place.L2BM else chosen


def _copy(source: _Side, target: _Side, size: int, _: int) -> None:
    target.put(_unit(target.operand), source.get(_unit(source.operand), size))


def _copy_each(source: _Side, target: _Side, size: int, _: int) -> None:
    for group in range(GROUPS):
        target.put(_unit(target.operand, group), source.get(_unit(source.operand, group), size))


def _broadcast(source: _Side, target: _Side, size: int, _: int) -> None:
    data = source.get(_unit(source.operand), size)
    for l2b in range(TILES):
        target.put(l2b, data)


def _broadcast_group(source: _Side, target: _Side, size: int, _: int) -> None:
    for group in range(GROUPS):
        data = source.get(group, size)
        for c in range(_L2BS):
            target.put(_L2BS * group + c, data)


def _gather_groups(source: _Side, target: _Side, size: int, _: int) -> None:
    parts = np.stack([source.get(q, size // 2).reshape(-1, _L2BS, BLOCK) for q in range(GROUPS)])
    for c in range(_L2BS):
        data = parts[:, :, c].swapaxes(0, 1).reshape(-1)
        for group in range(GROUPS):
            target.put(_L2BS * group + c, data)


def _all_l2bs(source: _Side, size: int) -> Words:
    return np.stack([source.get(l2b, size) for l2b in range(TILES)])


def _reduce(source: _Side, target: _Side, size: int, code: int) -> None:
    target.put(_unit(target.operand), reduce(_all_l2bs(source, size), code, "l2b8"))


def _scatter(target: _Side, data: Words) -> None:
    pieces = data.reshape(-1, GROUPS, BLOCK)
    for q in range(GROUPS):
        target.put(q, pieces[:, q].reshape(-1))


def _reduce_scatter(source: _Side, target: _Side, size: int, code: int) -> None:
    _scatter(target, reduce(_all_l2bs(source, size), code, "l2b8"))


def _reduce_group(source: _Side, target: _Side, size: int, code: int) -> None:
    sums = reduce(_all_l2bs(source, size).reshape(GROUPS, _L2BS, size).swapaxes(0, 1), code, "flat")
    for group in range(GROUPS):
        target.put(group, sums[group])


def _reduce_groups_scatter(source: _Side, target: _Side, size: int, code: int) -> None:
    sums = reduce(_all_l2bs(source, size).reshape(GROUPS, _L2BS, size), code, "flat")
    pieces = sums.reshape(_L2BS, -1, GROUPS, BLOCK)
    for q in range(GROUPS):
        target.put(q, pieces[:, :, q].swapaxes(0, 1).reshape(-1))


def _deal_groups(source: _Side, target: _Side, size: int, _: int) -> None:
    _scatter(target, source.get(_unit(source.operand), size))


def _collect_groups(source: _Side, target: _Side, size: int, _: int) -> None:
    parts = np.stack([source.get(q, size // GROUPS).reshape(-1, BLOCK) for q in range(GROUPS)], axis=1)
    target.put(_unit(target.operand), parts.reshape(-1))


def _deal_l2b(source: _Side, target: _Side, size: int, _: int) -> None:
    pieces = source.get(_unit(source.operand), size).reshape(-1, TILES, BLOCK)
    for l2b in range(TILES):
        target.put(l2b, pieces[:, l2b].reshape(-1))


def _collect_l2b(source: _Side, target: _Side, size: int, _: int) -> None:
    parts = np.stack([source.get(l2b, size // TILES).reshape(-1, BLOCK) for l2b in range(TILES)], axis=1)
    target.put(_unit(target.operand), parts.reshape(-1))


MAPPINGS: dict[str, Callable[[_Side, _Side, int, int], None]] = {
    "copy": _copy,
    "copy-each": _copy_each,
    "broadcast": _broadcast,
    "broadcast-group": _broadcast_group,
    "gather-groups": _gather_groups,
    "reduce": _reduce,
    "reduce-scatter": _reduce_scatter,
    "reduce-group": _reduce_group,
    "reduce-groups-scatter": _reduce_groups_scatter,
    "deal-groups": _deal_groups,
    "collect-groups": _collect_groups,
    "deal-l2b": _deal_l2b,
    "collect-l2b": _collect_l2b,
}


def check(move: Move) -> str:
    """Name of the element mapping of `move`; raises SourceError where no form of isa.md 14.2 fits."""
    source, target = move.source, move.destination
    form = find_move_form(move.mode, source.place, _ids(source), target.place, _ids(target))
    if form is None or move.size <= 0 or move.size % form.unit:
        what = f"no transfer mv{move.mode} of {move.size} LW from ${source.place} to ${target.place} exists"
        raise SourceError("PF0702", what, where=f"line {move.line}")
    return form.mapping


def execute(state: State, move: Move, mapping: str, watch: Watch | None = None) -> None:
    """Carry out one MV; `mapping` comes from `check`, `watch` is strict mode's."""
    run = move.run or 1
    code = reduction_code(move.reduction) if move.reduction else -1
    source, target = _Side(state, move.source, run, watch), _Side(state, move.destination, run, watch)
    MAPPINGS[mapping](source, target, move.size, code)
