"""What an exchange of the digits of one level (L1B or L2B) has to send where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from pfcomp.relayout.moves.model import COPY, Places, Universe, Values, combinations, valid


@dataclass(frozen=True, eq=False, slots=True)
class Crossing:
    """One level's places before and after, as lists of coordinates and blocks.

    `taken` are the values of the items that come from the address, one row for each block that goes up; `left` those
    of the items that go there, one row for each block that comes down. `senders` are the coordinates that hold
    something which no other holds. `origins[r][k]` says which sender and which row of `taken` receiver `r` gets as
    its block `k`; None for a receiver or a block that holds nothing. Receivers that get the same are listed once,
    `copies` has the bits in which the others differ.
    """

    changes: bool
    everywhere: bool
    taken: Values
    left: Values
    senders: tuple[int, ...]
    origins: tuple[tuple[tuple[int, int] | None, ...], ...]
    copies: int


@lru_cache(maxsize=4096)
def crossing(universe: Universe, before: Places, after: Places) -> Crossing:
    """The crossing of the level whose bits, the lowest first, hold `before` and shall hold `after`.

    An item may stay where it is, but not move from one bit to another.
    """
    bits = range(len(before))
    arriving = [bit for bit in reversed(bits) if after[bit] != before[bit] and after[bit] >= 0]
    taken = combinations(universe, tuple(after[bit] for bit in arriving))
    leaving = tuple(before[bit] for bit in reversed(bits) if after[bit] != before[bit] and before[bit] >= 0)
    left = combinations(universe, leaving)
    coordinates = [tuple(c >> bit & 1 for bit in bits) for c in range(1 << len(before))]
    held = [c for c in coordinates if all(b == 0 or label >= 0 for b, label in zip(c, before, strict=True))]
    exists = valid(universe, _values(universe, before, held))
    senders = {c: number for number, c in enumerate(c for c, e in zip(held, exists.tolist(), strict=True) if e)}
    rows = {tuple(row): number for number, row in enumerate(taken[:, [after[bit] for bit in arriving]].tolist())}

    def origin(receiver: tuple[int, ...], block: list[int]) -> tuple[int, int] | None:
        """A bit that stays is the receiver's, one that leaves is the block's, copies are the first."""
        sender = tuple(
            0 if label < 0 else receiver[bit] if label == after[bit] else block[label]
            for bit, label in enumerate(before)
        )
        row = rows.get(tuple(receiver[bit] for bit in arriving))
        return (senders[sender], row) if sender in senders and row is not None else None

    return Crossing(
        changes=before != after,
        everywhere=all(label == COPY for label in after),
        taken=taken,
        left=left,
        senders=tuple(sum(b << bit for bit, b in enumerate(c)) for c in senders),
        origins=tuple(tuple(origin(receiver, block) for block in left.tolist()) for receiver in coordinates),
        copies=sum(1 << bit for bit in bits if after[bit] == COPY),
    )


def _values(universe: Universe, labels: Places, coordinates: list[tuple[int, ...]]) -> Values:
    """The values of the items at each coordinate."""
    values = np.zeros((len(coordinates), len(universe.sizes)), np.int64)
    for bit, label in enumerate(labels):
        if label >= 0:
            values[:, label] = [c[bit] for c in coordinates]
    return values
