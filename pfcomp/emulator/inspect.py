"""Long words of one location of any memory, by the ids n c b m p (isa.md 1, 19)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product

import numpy as np

from pfcomp.emulator.rows import MASK_ROW, MATRIX_ROW, MATRIX_ROWS, MEMORIES, PES, PES_PER_L1B, T_ROW
from pfcomp.emulator.state import State, Words
from pfcomp.isa.model import CYCLES, Place

ID_COUNTS = {"n": 4, "c": 2, "b": 8, "m": 16, "p": 4}
_PE_PLACES = (*MEMORIES, Place.T, Place.MASK)


def id_letters(place: Place) -> str:
    """The ids that name one instance of a memory."""
    if place in _PE_PLACES:
        return "ncbmp"
    if place in MATRIX_ROW:
        return "ncbm"
    return {Place.L1BM: "ncb", Place.L2BM: "nc"}.get(place, "n")


def expand(place: Place, ids: Mapping[str, int]) -> Iterable[dict[str, int]]:
    """Every location that `ids` names; omitted ids run over their whole range, the last letter fastest."""
    letters = id_letters(place)
    ranges = [[ids[x]] if x in ids else range(ID_COUNTS[x]) for x in letters]
    for combination in product(*ranges):
        yield dict(zip(letters, combination, strict=True))


def _tile(ids: Mapping[str, int]) -> int:
    return 2 * ids["n"] + ids["c"]


def _pe(ids: Mapping[str, int]) -> int:
    return PES_PER_L1B * ids["b"] + PES * ids["m"] + ids.get("p", 0)


def _vector(state: State, place: Place, ids: Mapping[str, int]) -> tuple[Words, int]:
    """The memory instance as one array of long words, and how many address units one of them spans."""
    if place in MEMORIES:
        base, size = MEMORIES[place]
        return state.mem[_tile(ids), base : base + size // 2, _pe(ids)], 2
    if place == Place.T:
        return state.mem[_tile(ids), T_ROW : T_ROW + CYCLES, _pe(ids)], 1
    if place == Place.MASK:
        return state.mem[_tile(ids), MASK_ROW : MASK_ROW + 16 * CYCLES, _pe(ids)], 1
    if place == Place.L1BM:
        return state.l1bm[_tile(ids), ids["b"]], 1
    if place == Place.L2BM:
        return state.l2bm[_tile(ids)], 1
    return _matrix(state, place, ids), 1


def _matrix(state: State, place: Place, ids: Mapping[str, int]) -> Words:
    first = MATRIX_ROW[place]
    block = state.mem[_tile(ids), first : first + MATRIX_ROWS, _pe(ids) : _pe(ids) + PES]
    return block.reshape(-1)


def get(state: State, place: Place, ids: Mapping[str, int], address: int, count: int) -> list[int]:
    """`count` long words from `address` (in the memory's own unit) of one location; addresses wrap."""
    if place in (Place.DRAM, Place.PDM):
        memory = state.dram if place == Place.DRAM else state.pdm
        return [int(word) for word in memory.read(ids["n"], address % memory.size, count)]
    vector, unit = _vector(state, place, ids)
    return [int(word) for word in vector[(address // unit + np.arange(count)) % len(vector)]]


def put(state: State, place: Place, ids: Mapping[str, int], address: int, data: Iterable[int]) -> None:
    """Store long words from `address` of one location."""
    values = np.array(list(data), np.uint64)
    if place in (Place.DRAM, Place.PDM):
        memory = state.dram if place == Place.DRAM else state.pdm
        memory.write(ids["n"], address % memory.size, values)
        return
    vector, unit = _vector(state, place, ids)
    vector[(address // unit + np.arange(len(values))) % len(vector)] = values


def put_word(state: State, place: Place, ids: Mapping[str, int], address: int, word: int) -> None:
    """Store one 32-bit word of LM0, LM1, GRF0 or GRF1."""
    old = get(state, place, ids, address, 1)[0]
    new = (old & 0xFFFF_FFFF_0000_0000) | word if address % 2 else (old & 0xFFFF_FFFF) | word << 32
    put(state, place, ids, address, [new])


def nibbles(state: State, ids: Mapping[str, int], entry: int) -> list[int]:
    """The four nibbles of a mask register entry, cycle by cycle (isa.md 3.1)."""
    if entry >= 16:
        return [15 if (entry - 16) >> (CYCLES - 1 - cycle) & 1 else 0 for cycle in range(CYCLES)]
    spread = get(state, Place.MASK, ids, CYCLES * entry, CYCLES)
    return [sum((word >> (16 * bit) & 1) << bit for bit in range(4)) for word in spread]


def put_nibbles(state: State, ids: Mapping[str, int], entry: int, values: Iterable[int]) -> None:
    """Set the nibbles of a variable mask entry."""
    spread = [sum(0xFFFF << (16 * bit) for bit in range(4) if value >> bit & 1) for value in values]
    put(state, Place.MASK, ids, CYCLES * entry, spread)
