"""The part of `Through` above L1BM: rows between L1BM and L2BM, and MVs between the L2Bs through PDM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pfcomp.isa.model import Address, Move, Operand, Place
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.relayout.moves.model import L2B, held

if TYPE_CHECKING:
    from pfcomp.relayout.moves.through import Through

ROW = 64
INTERLEAVED = 32
"""Long words of each L1BM that one `l2bmd` moves; they take eight times as many in L2BM."""

GROUP_L2BS = 2

PDM_HALF = 1 << 18
"""Batches use the halves of PDM in turn."""
PDM_CYCLE_WORDS = 16
LATENCY_STEPS = 32
ISSUE_STEPS = 4


def steps(move: Through, block: int) -> tuple[int, int]:
    """Steps of the L2BM operations, up and down, of one batch."""
    if move.rows:
        up = move.up_blocks * move.parts * block // ROW
        down = len(_receivers(move)) * move.down_blocks * block // ROW
        return up, down
    return len(move.l2b.taken) * block // INTERLEAVED, len(move.l2b.left) * block // INTERLEAVED


def transfer_steps(move: Through, block: int) -> int:
    """What the MVs of one batch cost: half the steps that pass meanwhile, since others may be put there."""
    if not move.l2b.changes:
        return 0
    image = move.up_blocks * move.parts * block
    share = image // len(move.l2b.taken)
    up = len(_senders(move)) * max(ISSUE_STEPS, -(-image // PDM_CYCLE_WORDS // 4))
    receivers = _l2bs(move)
    arrivals = sum(len(_runs(move, receiver)) for receiver in receivers)
    words = len(move.l2b.left) * share * len(receivers)
    return (up + max(arrivals * ISSUE_STEPS, -(-words // PDM_CYCLE_WORDS // 4)) + 2 * LATENCY_STEPS) // 2


def emit(move: Through, context: KernelContext, block: int, buffer: int, number: int) -> None:
    """Bring the blocks at `buffer` in L1BM to the L1Bs where they belong, at the same place."""
    taken, left = len(move.l2b.taken), len(move.l2b.left)
    share = len(move.l1b.taken) * move.parts * block
    image = context.rings.l2bm.take(max(taken, left) * share, ROW)
    _collect(move, context, block, buffer, image)
    if move.l2b.changes:
        _cross(move, context, share, image, number % 2 * PDM_HALF)
    _distribute(move, context, block, buffer, image)


def _collect(move: Through, context: KernelContext, block: int, buffer: int, image: int) -> None:
    op = context.builder.op
    if not move.rows:
        for start in range(0, move.up_blocks * block, INTERLEAVED):
            op("l2bmd", operands.l1bm(buffer + start), to=operands.l2bm(image + 8 * start))
        return
    for number in range(move.up_blocks):
        for l1b in move.l1b.senders:
            for start in range(0, block, ROW):
                op(f"l2bm@{l1b}", operands.l1bm(buffer + number * block + start), to=operands.l2bm(image + start))
            image += block


def _cross(move: Through, context: KernelContext, share: int, image: int, pdm: int) -> None:
    size = len(move.l2b.taken) * share
    alone = _alone(move)
    for number, l2b in _senders(move):
        source = _l2bm(image, l2b, alone=alone)
        context.builder.move(Move("p", size, source, _pdm(pdm + number * size, alone=alone)))
    common = move.l2b.everywhere
    for receiver in _l2bs(move):
        for (sender, row), block, length in _runs(move, receiver):
            source = _pdm(pdm + sender * size + row * share, alone=alone)
            to = _l2bm(image + block * share, None if common else receiver, alone=alone)
            context.builder.move(Move("b" if common else "p", length * share, source, to))


def _alone(move: Through) -> bool:
    """True if nothing crosses groups, so that every group uses its own PDM, all at the same time."""
    before, after = held(move.before, L2B), held(move.after, L2B)
    return before[1:] == after[1:] and not move.l2b.everywhere


def _senders(move: Through) -> list[tuple[int, int]]:
    """Number and L2B of those that send; only the first group's where every group does the same."""
    return [(n, l2b) for n, l2b in enumerate(move.l2b.senders) if l2b < GROUP_L2BS or not _alone(move)]


def _l2bs(move: Through) -> range:
    """The L2Bs that receive something of their own: the first one where all receive the same."""
    return range(1 if move.l2b.everywhere else GROUP_L2BS if _alone(move) else 8)


def _runs(move: Through, receiver: int) -> list[tuple[tuple[int, int], int, int]]:
    """What an L2B receives as (sender and row, block, number of blocks): neighbours in PDM that stay neighbours."""
    rows = len(move.l2b.taken)
    found: list[tuple[tuple[int, int], int, int]] = []
    for block, origin in enumerate(move.l2b.origins[receiver]):
        if origin is None:
            continue
        last = found[-1] if found else None
        if last and last[1] + last[2] == block and _flat(last[0], rows) + last[2] == _flat(origin, rows):
            found[-1] = (last[0], last[1], last[2] + 1)
        else:
            found.append((origin, block, 1))
    return found


def _flat(origin: tuple[int, int], rows: int) -> int:
    return origin[0] * rows + origin[1]


def _receivers(move: Through) -> list[int]:
    """The L1Bs that receive something different from each other."""
    origins = move.l1b.origins
    return [b for b in range(8) if b & move.l1b.copies == 0 and any(o is not None for o in origins[b])]


def _distribute(move: Through, context: KernelContext, block: int, buffer: int, image: int) -> None:
    op = context.builder.op
    if not move.rows:
        for start in range(0, move.down_blocks * block, INTERLEAVED):
            op("l2bmd", operands.l2bm(image + 8 * start), to=operands.l1bm(buffer + start))
        return
    everyone = move.l1b.everywhere
    for receiver in _receivers(move):
        mnemonic = "l2bmb" if everyone else f"l2bmb@{receiver}/{move.l1b.copies}"
        if not everyone and not move.l1b.copies:
            mnemonic = f"l2bmb@{receiver}"
        for high in range(len(move.l2b.left)):
            for low, origin in enumerate(move.l1b.origins[receiver]):
                if origin is None:
                    continue
                sender, row = origin
                source = image + ((high * len(move.l1b.taken) + row) * move.parts + sender) * block
                place = buffer + (high * len(move.l1b.left) + low) * block
                for start in range(0, block, ROW):
                    op(mnemonic, operands.l2bm(source + start), to=operands.l1bm(place + start))


def _pdm(address: int, *, alone: bool) -> Operand:
    """PDM of group 0, or every group's own."""
    return Operand(Place.PDM, 2, Address(address), group=None if alone else 0)


def _l2bm(address: int, l2b: int | None, *, alone: bool) -> Operand:
    """L2BM of one L2B of the chip, of all, or of one in every group."""
    group = None if l2b is None or alone else l2b // GROUP_L2BS
    return Operand(Place.L2BM, 2, Address(address), group=group, l2b=None if l2b is None else l2b % GROUP_L2BS)
