"""What an exchange of the digits of one level (L1B or L2B) has to send where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pfcomp.relayout.moves.model import COPY, Places, Universe, Values, combinations, replaced, valid


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


@lru_cache(maxsize=1024)
def crossing(universe: Universe, which: tuple[int, ...], before: Places, after: Places) -> Crossing:
    """The crossing of the places `which` (fastest first); no item moves from one of them to another."""
    taken = tuple(after[p] for p in reversed(which) if after[p] != before[p] and after[p] >= 0)
    left = tuple(before[p] for p in reversed(which) if after[p] != before[p] and before[p] >= 0)
    rows, blocks = combinations(universe, taken), combinations(universe, left)
    senders = tuple(c for c in range(1 << len(which)) if _holds(universe, which, before, c))
    kept = [p for p in which if before[p] == after[p]]
    numbers = {tuple(row): n for n, row in enumerate(rows[:, taken].tolist())}

    def origin(receiver: int, block: list[int]) -> tuple[int, int] | None:
        bit = {p: receiver >> position & 1 for position, p in enumerate(which)}
        sender = sum(
            (bit[p] if p in kept else block[before[p]]) << position
            for position, p in enumerate(which)
            if before[p] >= 0
        )
        row = numbers.get(tuple(bit[p] for p in reversed(which) if after[p] in taken))
        return (senders.index(sender), row) if sender in senders and row is not None else None

    receivers = tuple(
        tuple(origin(receiver, block) for block in blocks.tolist()) for receiver in range(1 << len(which))
    )
    return Crossing(
        changes=before != replaced(before, {p: after[p] for p in which}),
        everywhere=all(after[p] == COPY for p in which),
        taken=rows,
        left=blocks,
        senders=senders,
        origins=receivers,
        copies=sum(1 << position for position, p in enumerate(which) if after[p] == COPY),
    )


def _holds(universe: Universe, which: tuple[int, ...], places: Places, coordinate: int) -> bool:
    """True for the first copy of something that exists."""
    values = combinations(universe, ())[:1].copy()
    for position, place in enumerate(which):
        bit = coordinate >> position & 1
        if places[place] >= 0:
            values[0, places[place]] = bit
        elif bit:
            return False
    return bool(valid(universe, values)[0])
