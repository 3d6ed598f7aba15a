"""DRAM addresses of an app as it is linked: inputs, outputs, states, constants, in long words per group.

The runtime moves every value elsewhere by relocation; the order and the reservations stay the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pfcomp.errors import UnsupportedError
from pfcomp.ir.model import MNValue
from pfcomp.layout.model import Level

UNIT = 16
"""Long words in one DRAM access; every range begins and ends on a multiple (backend-movement.md 2.1)."""

STORE = 64
"""Long words that one store moves at least: a written value keeps the space up to the next multiple free."""


LISTED = 5
"""Values that an error names."""


def reserved(size: int, *, written: bool) -> int:
    """Long words per group that a value of `size` keeps for itself."""
    return -(-size // STORE) * STORE if written else -(-size // UNIT) * UNIT


def assign(
    read: Iterable[MNValue], written: Iterable[MNValue], states: Iterable[MNValue], constants: Iterable[MNValue]
) -> list[MNValue]:
    """The values with addresses, in the order given; large values begin on a multiple of 64."""
    placed: list[MNValue] = []
    address = 0
    for group, is_written in ((read, False), (written, True), (states, True), (constants, False)):
        for value in group:
            if value.size >= STORE:
                address = -(-address // STORE) * STORE
            placed.append(replace(value, address=address))
            address += reserved(value.size, written=is_written)
    if address > Level.ADDR.extent:
        raise _too_large(placed, address)
    return placed


def _too_large(placed: list[MNValue], total: int) -> UnsupportedError:
    largest = sorted(placed, key=lambda value: -value.size)[:LISTED]
    named = ", ".join(f"{value.name} {value.size}" for value in largest)
    return UnsupportedError(
        "PF0423",
        f"the tensors need {total} long words of each DRAM, there are {Level.ADDR.extent}; the largest: {named}",
        hint="use a smaller batch or model, or split the function",
    )
