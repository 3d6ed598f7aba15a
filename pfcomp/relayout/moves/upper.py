"""The part of `Through` above L1BM: rows between L1BM and L2BM, and MVs between the L2Bs through PDM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pfcomp.isa.model import Address, Move, Operand, Place
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext

if TYPE_CHECKING:
    from pfcomp.relayout.moves.through import Through

ROW = 64
INTERLEAVED = 32
"""Long words of each L1BM that one `l2bmd` moves; they take eight times as many in L2BM."""

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
    """Steps that pass while the MVs of one batch run."""
    if not move.l2b.changes:
        return 0
    image = move.up_blocks * move.parts * block
    share = image // len(move.l2b.taken)
    up = len(move.l2b.senders) * max(ISSUE_STEPS, -(-image // PDM_CYCLE_WORDS // 4))
    arrivals = len(_runs(move, 0)) if _common(move) else sum(len(_runs(move, r)) for r in range(8))
    words = len(move.l2b.left) * share * (1 if _common(move) else 8)
    return up + max(arrivals * ISSUE_STEPS, -(-words // PDM_CYCLE_WORDS // 4)) + 2 * LATENCY_STEPS


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
    for number, l2b in enumerate(move.l2b.senders):
        context.builder.move(Move("p", size, _l2bm(image, l2b), _pdm(pdm + number * size)))
    for receiver in (None,) if _common(move) else range(8):
        for (sender, row), block, length in _runs(move, receiver or 0):
            source = _pdm(pdm + sender * size + row * share)
            mode = "b" if receiver is None else "p"
            context.builder.move(Move(mode, length * share, source, _l2bm(image + block * share, receiver)))


def _common(move: Through) -> bool:
    """True if all L2Bs receive the same."""
    return move.l2b.everywhere


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


def _pdm(address: int) -> Operand:
    return Operand(Place.PDM, 2, Address(address), group=0)


def _l2bm(address: int, l2b: int | None) -> Operand:
    """L2BM of one L2B of the chip, or of all."""
    if l2b is None:
        return Operand(Place.L2BM, 2, Address(address))
    return Operand(Place.L2BM, 2, Address(address), group=l2b // 2, l2b=l2b % 2)
