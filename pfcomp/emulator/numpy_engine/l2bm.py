"""Transfers between L2BM and L1BM, and the DRAM address registers (isa.md 13)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pfcomp.emulator.micro import L2Kind, Micro
from pfcomp.emulator.numpy_engine.reduce import reduce, unit_word
from pfcomp.emulator.rows import L1BS, TILES
from pfcomp.emulator.sparse import GROUPS
from pfcomp.emulator.state import DAR_BUFFER, DAR_ENTRIES, State, Words
from pfcomp.isa.model import CYCLES

_BLOCK = 16 * CYCLES  # long words of one L1B in the 16 LW per cycle transfers
_WIDE = 64 * CYCLES  # long words of L2BM in the 64 LW per cycle transfers


def load(memory: Words, address: int, count: int) -> Words:
    """`count` long words of the last axis from `address`, wrapping; a view unless they wrap."""
    size = memory.shape[-1]
    if address + count <= size:
        return memory[..., address : address + count]
    return memory[..., (address + np.arange(count)) % size]


def store(memory: Words, address: int, data: Words) -> None:
    """The opposite of `load`."""
    size, count = memory.shape[-1], data.shape[-1]
    if address + count <= size:
        memory[..., address : address + count] = data
    else:
        memory[..., (address + np.arange(count)) % size] = data


def _members(mask: int) -> list[int]:
    return [b for b in range(L1BS) if mask >> b & 1]


def _broadcast(state: State, c: int, b: int, members: int, _: int) -> None:
    data = load(state.l2bm, c, _BLOCK)
    for l1b in _members(members):
        store(state.l1bm[:, l1b], b, data)


def _broadcast2(state: State, c: int, b: int, members: int, _: int) -> None:
    pairs = load(state.l2bm, c, _WIDE).reshape(TILES, CYCLES, L1BS // 2, 16)
    for l1b in _members(members):
        store(state.l1bm[:, l1b], b, pairs[:, :, l1b // 2].reshape(TILES, _BLOCK))


def _spread(state: State, c: int, b: int, members: int, _: int) -> None:
    parts = load(state.l2bm, c, _WIDE).reshape(TILES, CYCLES, L1BS, 8)
    for l1b in _members(members):
        store(state.l1bm[:, l1b], b, parts[:, :, l1b].reshape(TILES, 8 * CYCLES))


def _collect(state: State, c: int, b: int, members: int, _: int) -> None:
    parts = load(state.l2bm, c, _WIDE).reshape(TILES, CYCLES, L1BS, 8).copy()
    for l1b in _members(members):
        parts[:, :, l1b] = load(state.l1bm[:, l1b], b, 8 * CYCLES).reshape(TILES, CYCLES, 8)
    store(state.l2bm, c, parts.reshape(TILES, _WIDE))


def _take(state: State, c: int, b: int, members: int, _: int) -> None:
    store(state.l2bm, c, load(state.l1bm[:, _members(members)[0]], b, _BLOCK))


def _reduce(state: State, c: int, b: int, members: int, code: int) -> None:
    parts = np.moveaxis(load(state.l1bm, b, _BLOCK), 1, 0).copy()
    for l1b in set(range(L1BS)) - set(_members(members)):
        parts[l1b] = unit_word(code)
    store(state.l2bm, c, reduce(parts, code, "l1b8"))


def _reduce2(state: State, c: int, b: int, _: int, code: int) -> None:
    parts = load(state.l1bm, b, _BLOCK).reshape(TILES, L1BS // 2, 2, CYCLES, 16)
    sums = reduce(np.moveaxis(parts, 2, 0), code, "flat")
    store(state.l2bm, c, sums.transpose(0, 2, 1, 3).reshape(TILES, _WIDE))


def _internal(state: State, source: int, b: int, base: int, dont_care: int) -> None:
    """Every L1B receives from the one that differs in `dont_care` bits only and agrees with `base` in the others.

    Read as isa.md 13.1's best reading (UNCERTAIN): L1Bs fall into groups by their bits in `dont_care`, and in each
    group the one whose other bits equal those of `base` is the source.
    """
    data = load(state.l1bm, source, _BLOCK).copy()
    for l1b in range(L1BS):
        store(state.l1bm[:, l1b], b, data[:, internal_source(l1b, base, dont_care)])


def internal_source(l1b: int, base: int, dont_care: int) -> int:
    """The L1B that `l1b` receives from in `l2bmi@base/dont_care`."""
    return (l1b & dont_care) | (base & ~dont_care & (L1BS - 1))


# state, L2BM address (or L1BM source), L1BM address, L1B bit set (or base), reduction (or don't-care bits)
TRANSFERS: dict[L2Kind, Callable[[State, int, int, int, int], None]] = {
    L2Kind.BROADCAST: _broadcast,
    L2Kind.BROADCAST2: _broadcast2,
    L2Kind.SPREAD: _spread,
    L2Kind.COLLECT: _collect,
    L2Kind.TAKE: _take,
    L2Kind.REDUCE: _reduce,
    L2Kind.REDUCE2: _reduce2,
    L2Kind.INTERNAL: _internal,
}


def run(state: State, micro: Micro) -> None:
    """One L2BM operation."""
    kind, *params = micro.params
    TRANSFERS[L2Kind(kind)](state, params[0], params[1], params[2], params[3])


def read_addresses(state: State, micro: Micro) -> None:
    """`l2bmdars`: 256 LW of one L2BM of each group to the buffer, most significant word first (isa.md 13.2)."""
    address, l2b, entry = micro.params
    for group in range(GROUPS):
        words = load(state.l2bm[2 * group + l2b], address, DAR_BUFFER // 2)
        state.dar_buffer[group, 0::2] = words >> np.uint64(32)
        state.dar_buffer[group, 1::2] = words & np.uint64(0xFFFF_FFFF)
    state.dar_base, state.dar_next = entry, 0


def write_addresses(state: State, _: Micro) -> None:
    """`l2bmdarw`: the next four addresses of the buffer (UNCERTAIN: one step is read as four entries)."""
    index = state.dar_next + np.arange(CYCLES)
    state.dar[:, (state.dar_base + index) % DAR_ENTRIES] = state.dar_buffer[:, index % DAR_BUFFER]
    state.dar_next += CYCLES
