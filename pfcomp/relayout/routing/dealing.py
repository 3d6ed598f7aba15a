"""A form between source and target over whose L1Bs the elements are dealt evenly.

Where few L1Bs send to few, most blocks of a route are empty. On the way to such a form, and from there to the target,
all blocks have about the same size, whatever the rearrangement is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pfcomp.layout import Layout, Level, Subaxis
from pfcomp.relayout.api import Form
from pfcomp.relayout.gather.wanted import NOBODY
from pfcomp.relayout.routing.places import ALL, Longs
from pfcomp.relayout.routing.route import Demand, numbered, sorted_by

L1BS = ALL + 1
LANES = ALL + 1
BOARD = (Subaxis(8, Level.L2B), Subaxis(8, Level.L1B))


@dataclass(frozen=True, eq=False, slots=True)
class Deal:
    """The form in between, where each of its places comes from, and what each place of the target takes from it."""

    form: Form
    words: int
    first: Longs
    last: Longs


def deal(demand: Demand) -> Deal:
    """Elements of each pair of L1Bs go to all L1Bs in turn; there they lie in the order of where they are going."""
    here, there = demand.source.outer, demand.target.outer
    order = sorted_by(here, there, demand.source.word)
    middle = np.empty(len(order), np.int32)
    middle[order] = (numbered(here[order]) + here[order]) % L1BS
    order = sorted_by(middle, there, here, demand.source.word)
    per_row = LANES * (64 // demand.bits)
    slots = numbered(middle[order])
    rows = max(1, -(-(int(slots.max(initial=0)) + 1) // per_row))
    inner = (Subaxis(rows), Subaxis(16, Level.MAB), Subaxis(4, Level.PE), Subaxis(64 // demand.bits, Level.W))
    digits = (*BOARD, *inner)
    form = Form(tuple(sub.size for sub in digits), demand.bits, Layout(tuple((sub,) for sub in digits)))
    slots += middle[order] * rows * per_row
    first = np.full(L1BS * rows * per_row, NOBODY, np.int64)
    first[slots] = demand.elements[order]
    last = np.full(demand.size, demand.others, np.int64)
    last[demand.places[order]] = slots
    return Deal(form, rows, first, last)
