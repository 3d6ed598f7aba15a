"""Transfers between L1BM and the PEs (isa.md 12)."""

from __future__ import annotations

import numpy as np

from pfcomp.emulator.micro import L1Kind, Micro, Reduction
from pfcomp.emulator.numpy_engine.access import SHAPE, read, read_low, write
from pfcomp.emulator.numpy_engine.halves import TO_SINGLE, join_halves, pack_pair, split_halves
from pfcomp.emulator.numpy_engine.reduce import decode, narrow_sum, reduce
from pfcomp.emulator.rows import L1BS, MABS, PES, TILES
from pfcomp.emulator.state import L1BM_LW, State, Words
from pfcomp.isa.model import CYCLES

QUARTERS = 4
# Long words that the 1LW form moves in a cycle, and over how many groups of MABs they are spread.
PER_CYCLE = {L1Kind.P: 1, L1Kind.M: PES, L1Kind.M4: QUARTERS * PES, L1Kind.D: MABS * PES}
_PE_SHAPE = (TILES, CYCLES, L1BS, MABS, PES)


def _span(kind: L1Kind, two: int) -> int:
    return CYCLES * PER_CYCLE[kind] * (2 if two else 1)


def _shape(kind: L1Kind, two: int) -> tuple[int, ...]:
    """How a span is laid out: [LW of 2LW for p] [cycle] [quarter] [LW of 2LW] [PE or MAB·PE] (isa.md 12.1)."""
    if kind == L1Kind.P:
        return (2, CYCLES) if two else (1, CYCLES)
    if kind == L1Kind.D:
        return (CYCLES, MABS, PES)
    parts = 2 if two else 1
    return (CYCLES, parts, PES) if kind == L1Kind.M else (CYCLES, QUARTERS, parts, PES)


def _load(source: Words, address: int, count: int) -> Words:
    size = source.shape[-1]
    if address + count <= size:
        return source[:, :, address : address + count]
    return source[:, :, (address + np.arange(count)) % size]


def _parts(data: Words, kind: L1Kind, two: int) -> list[Words]:
    """The span `[tile][L1B][LW]` as one array for each LW, broadcastable to `[tile][cycle][L1B][MAB][PE]`."""
    laid = data.reshape(TILES, L1BS, *_shape(kind, two))
    if kind == L1Kind.P:
        return [laid[:, :, i].transpose(0, 2, 1)[..., None, None] for i in range(laid.shape[2])]
    if kind == L1Kind.D:
        return [laid.transpose(0, 2, 1, 3, 4)]
    if kind == L1Kind.M:
        return [laid[:, :, :, i].transpose(0, 2, 1, 3)[:, :, :, None] for i in range(laid.shape[3])]
    quarters = [laid[:, :, :, :, i].transpose(0, 2, 1, 3, 4) for i in range(laid.shape[4])]
    return [np.repeat(q, MABS // QUARTERS, axis=3) for q in quarters]


def down(state: State, micro: Micro) -> None:
    """L1BM or the turnaround register to LW0 and LW1 of the PEs."""
    kind, address, two, shift, turnaround = micro.params
    dst = micro.dst
    if dst is None:
        return
    source = state.turn if turnaround else state.l1bm
    parts = _parts(_load(source, address, _span(L1Kind(kind), two)), L1Kind(kind), two)
    if shift:
        parts = [np.roll(part, shift, axis=3) for part in parts]
    for quad, part in zip((dst.hi, dst.lo), parts, strict=False):
        if quad:
            write(state, quad, np.ascontiguousarray(np.broadcast_to(part, _PE_SHAPE)).reshape(SHAPE))


def up(state: State, micro: Micro) -> None:
    """PEs to L1BM (unless only the turnaround register is addressed) and to the turnaround register."""
    kind, address, two, shift, *_ = micro.params
    parts = [read(state, micro.src[0].hi)]
    if two:
        parts.append(read_low(state, micro.src[0]))
    laid = [np.broadcast_to(part, SHAPE).reshape(_PE_SHAPE) for part in parts]
    plain = _collect(_combine(laid, micro), L1Kind(kind))
    state.turn[:, :, : plain.shape[-1]] = plain  # unshifted (isa.md 12.2)
    if address < 0:
        return
    data = plain if not shift else _collect([np.roll(part, shift, axis=3) for part in laid], L1Kind(kind))
    count = data.shape[-1]
    if address + count <= L1BM_LW:
        state.l1bm[:, :, address : address + count] = data
    else:
        state.l1bm[:, :, (address + np.arange(count)) % L1BM_LW] = data


def _combine(parts: list[Words], micro: Micro) -> list[Words]:
    """What of the MABs goes up: all (d), one of each group, or a reduction; `[tile][cycle][L1B][group][PE]`."""
    kind, _, _, _, select, reduction, widen, narrow = micro.params
    if kind == L1Kind.D:
        return parts
    groups = 1 if kind == L1Kind.M else QUARTERS
    grouped = [part.reshape(*part.shape[:3], groups, MABS // groups, PES) for part in parts]
    if reduction < 0:
        return [part[:, :, :, :, select] for part in grouped]
    tree = "mab16" if groups == 1 else "flat"
    operands = [np.moveaxis(part, 4, 0) for part in grouped]
    operator, bits = decode(reduction)
    if operator == Reduction.FADD and (bits == 16 or widen or narrow):
        sums = _mixed_sum(operands, bits, widen, narrow, tree)
        return sums + [np.zeros_like(sums[0])] * (len(parts) - len(sums))
    return [reduce(part, reduction, tree) for part in operands]


def _mixed_sum(parts: list[Words], bits: int, widen: int, narrow: int, tree: str) -> list[Words]:
    """Sums on the single adder with half inputs or outputs (isa.md 12.1); `hfadd` has both."""
    if bits == 16 or (widen and len(parts) == 2):
        pairs = [split_halves(parts[0])] if bits == 32 else [split_halves(part) for part in parts]
        if bits == 16 or narrow:
            return [join_halves(*(narrow_sum(p, tree) for p in pair)) for pair in pairs]
        return [reduce(np.ascontiguousarray(p).view(np.uint64), 8, tree) for p in pairs[0]]
    if widen:
        singles = TO_SINGLE[np.ascontiguousarray(parts[0] >> np.uint64(32)).view(np.uint16)]
        lanes = singles.reshape(*parts[0].shape[:-1], -1, 4)[..., :2]
        flat = np.ascontiguousarray(lanes).reshape(*parts[0].shape[:-1], -1)
    else:
        flat = np.ascontiguousarray(parts[0]).view(np.uint32)
    if not narrow:
        return [reduce(np.ascontiguousarray(flat).view(np.uint64), 8, tree)]
    if len(parts) == 1:
        return [pack_pair(narrow_sum(flat, tree))]
    second = np.ascontiguousarray(parts[1]).view(np.uint32)
    return [join_halves(narrow_sum(flat, tree), narrow_sum(second, tree))]


def _collect(parts: list[Words], kind: L1Kind) -> Words:
    """Parts `[tile][cycle][L1B][group][PE]` in address order, `[tile][L1B][LW]`."""
    if kind == L1Kind.D:
        return parts[0].transpose(0, 2, 1, 3, 4).reshape(TILES, L1BS, -1)
    stacked = np.stack(parts, axis=-2)
    return stacked.transpose(0, 2, 1, 3, 4, 5).reshape(TILES, L1BS, -1)
