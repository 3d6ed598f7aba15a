"""How long an MV transfer takes: its long words over the narrower end's bandwidth, plus a fixed latency.

Bandwidths are those of isa.md 21.3, in long words per cycle; the latency there is a placeholder and so it is here.
"""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.isa.model import Move, Place

LATENCY = 128
"""Cycles between the issue of a transfer and its first word."""

ISSUE_INTERVAL = 16
"""Cycles between two transfers of the stream: one for every four steps."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Long words per cycle of one mode, counted on the side that `Move.size` counts."""

    words: int
    ports: tuple[str, ...]
    """Which shared ports it keeps busy."""


PORTS = {Place.DRAM: "DRAM", Place.DRAM_INDIRECT: "DRAM", Place.PDM: "PDM", Place.L2BM: "L2BM"}

SPECIAL = {"b4": 16, "d": 32, "r": 32, "r4": 16}
"""Modes whose rate is not that of their narrower end."""

WIDTH = {"DRAM": 8, "PDM": 16, "L2BM": 16}


def rate_of(move: Move) -> Rate:
    """The rate of a transfer and the ports it occupies."""
    ends = tuple(dict.fromkeys(PORTS[o.place] for o in (move.source, move.destination)))
    narrow = min(WIDTH[end] for end in ends)
    words = SPECIAL[move.mode] if move.mode in SPECIAL and "DRAM" in ends else narrow
    return Rate(words, tuple(end for end in ends if end != "L2BM"))


def duration(move: Move) -> int:
    """Cycles in which the transfer keeps its ports busy."""
    return -(-move.size // rate_of(move).words)
