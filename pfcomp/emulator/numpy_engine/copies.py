"""Copies between rows: plain, single words, per-PE addresses, constants, masks and base addresses (isa.md 4, 6, 7)."""

from __future__ import annotations

import numpy as np

from pfcomp.emulator.micro import Micro
from pfcomp.emulator.numpy_engine.access import (
    HIGH_WORD,
    LOW_WORD,
    SHAPE,
    masks,
    read,
    read_low,
    write,
    write_masked,
)
from pfcomp.emulator.rows import PES, PES_PER_TILE, T_VALUE, TILES, Value
from pfcomp.emulator.state import State, Words
from pfcomp.isa.model import CYCLES

_TILE = np.arange(TILES)[:, None, None]
_PE = np.arange(PES_PER_TILE)[None, None, :]
_HALF_MASK = (LOW_WORD, HIGH_WORD)


def _target(micro: Micro) -> Value:
    if micro.dst is None:
        raise ValueError("a copy needs a destination")
    return micro.dst


def copy(state: State, micro: Micro) -> None:
    """LW0 (and LW1) of the source to the destination rows, under a write mask."""
    dst, src = _target(micro), micro.src[0]
    mask_row, two_long = micro.params
    low_mask: Words | None = None
    if mask_row < 0:
        high = read(state, src.hi)
        low = read_low(state, src) if dst.lo else None
        write(state, dst.hi, high)
    else:
        mask, low_mask = masks(state, mask_row, two_long)
        low = read_low(state, src) if dst.lo else None
        write_masked(state, dst.hi, read(state, src.hi), mask)
    if dst.lo and low is not None:
        if low_mask is None:
            write(state, dst.lo, low)
        else:
            write_masked(state, dst.lo, low, low_mask)


def load_word(state: State, micro: Micro) -> None:
    """A word operand: the data in w0, zeros behind it."""
    data = np.broadcast_to(read(state, micro.src[0].hi), SHAPE)
    shifts = np.array(micro.params, np.uint64)[None, :, None] * np.uint64(32)
    write(state, _target(micro).hi, (data << shifts) & HIGH_WORD)


def store_word(state: State, micro: Micro) -> None:
    """w0 to one half of each destination long word, cycle by cycle (two cycles may share a long word)."""
    *halves, mask_row, two_long = micro.params
    data = np.broadcast_to(read(state, micro.src[0].hi), SHAPE)
    mask = None if mask_row < 0 else np.broadcast_to(masks(state, mask_row, two_long)[0], SHAPE)
    for cycle, (row, half) in enumerate(zip(_target(micro).hi, halves, strict=True)):
        keep = HIGH_WORD if mask is None else mask[:, cycle] & HIGH_WORD
        shift = np.uint64(32 * half)
        old = state.mem[:, row]
        state.mem[:, row] = old ^ ((old ^ (data[:, cycle] >> shift)) & (keep >> shift))


def addresses(state: State, params: tuple[int, ...]) -> Words:
    """Word address of every PE and cycle, wrapped (isa.md 6)."""
    _, words, width, a0, a1, a2, a3, use_t, neighbour, bar = params[:10]
    result = np.broadcast_to(np.array([a0, a1, a2, a3], np.uint64)[None, :, None], SHAPE)
    if use_t:
        result = result + (read(state, T_VALUE.hi) & LOW_WORD)
    if neighbour >= 0:
        result = result + np.where(neighbour >= _PE % PES, np.uint64(width), np.uint64(0))
    if bar >= 0:
        result = result + state.mem[:, bar][:, None, :]
    return result & np.uint64((words - 1) & -width)  # misaligned run-time addresses are truncated down


def gather(state: State, micro: Micro) -> None:
    """A read whose address differs between PEs."""
    address, width, dst = addresses(state, micro.params), micro.params[2], _target(micro)
    row = (address >> np.uint64(1)).astype(np.intp) + micro.params[0]
    data = state.mem[_TILE, row, _PE]
    if width == 1:
        data = (data << ((address & np.uint64(1)) << np.uint64(5))) & HIGH_WORD
    low = state.mem[_TILE, row + 1, _PE] if dst.lo else None
    write(state, dst.hi, data)
    if dst.lo and low is not None:
        write(state, dst.lo, low)


def scatter(state: State, micro: Micro) -> None:
    """A write whose address differs between PEs; later cycles overwrite earlier ones."""
    *_, mask_row, two_long, enabled = micro.params
    address, width = addresses(state, micro.params), micro.params[2]
    row = (address >> np.uint64(1)).astype(np.intp) + micro.params[0]
    high = np.broadcast_to(read(state, micro.src[0].hi), SHAPE)
    low = np.broadcast_to(read_low(state, micro.src[0]), SHAPE)
    mask, low_mask = (None, None) if mask_row < 0 else masks(state, mask_row, two_long)
    ones = np.broadcast_to(np.uint64(0xFFFF_FFFF_FFFF_FFFF), SHAPE)
    keep = ones if mask is None else np.broadcast_to(mask, SHAPE)
    low_keep = ones if low_mask is None else np.broadcast_to(low_mask, SHAPE)
    shift = (address & np.uint64(1)) << np.uint64(5)
    if width == 1:
        keep, high = (keep & HIGH_WORD) >> shift, (high & HIGH_WORD) >> shift
    for cycle in range(CYCLES):
        on = enabled >> (CYCLES - 1 - cycle) & 1
        if on:
            _merge(state, row[:, cycle], high[:, cycle], keep[:, cycle])
        if width == 4 and (on or not two_long):
            _merge(state, row[:, cycle] + 1, low[:, cycle], low_keep[:, cycle])


def _merge(state: State, row: np.ndarray, data: Words, keep: Words) -> None:
    where = (_TILE[:, 0], row, _PE[0])
    old = state.mem[where]
    state.mem[where] = old ^ ((old ^ data) & keep)


def flush(state: State, micro: Micro) -> None:
    """Zero-flush: result pieces whose mask bit is 0 become zero (isa.md 7.1)."""
    dst, src = _target(micro), micro.src[0]
    high_mask, low_mask = masks(state, *micro.params)
    write(state, dst.hi, read(state, src.hi) & high_mask)
    if dst.lo:
        low = read_low(state, src)
        write(state, dst.lo, low if low_mask is None else low & low_mask)


def fill(state: State, micro: Micro) -> None:
    """A constant long word in every PE."""
    high, low = micro.params
    dst, word = _target(micro), np.uint64(high << 32 | low)
    write(state, dst.hi, np.broadcast_to(word, SHAPE))
    if dst.lo:
        write(state, dst.lo, np.broadcast_to(word, SHAPE))


def store_mask(state: State, micro: Micro) -> None:
    """Flags (nibble bits spread over half-words) to a mask register entry."""
    (mask_row,) = micro.params
    dst, flags = _target(micro).hi, read(state, micro.src[0].hi)
    if mask_row < 0:
        write(state, dst, flags)
    else:
        write_masked(state, dst, flags, read(state, (mask_row, mask_row + 1, mask_row + 2, mask_row + 3)))


def set_bar(state: State, micro: Micro) -> None:
    """The low 12 bits of w0 to a base-address register; the last enabled cycle stays."""
    mask_row, two_long = micro.params
    value = (np.broadcast_to(read(state, micro.src[0].hi), SHAPE) >> np.uint64(32)) & np.uint64(0xFFF)
    dst = _target(micro).hi
    if mask_row < 0:
        write(state, dst, value)
    else:
        write_masked(state, dst, value, masks(state, mask_row, two_long)[0] >> np.uint64(32))
