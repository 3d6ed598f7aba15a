"""Steps that bring source units straight to their places in the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from pfcomp.relayout.gather.passes import Straight
from pfcomp.relayout.gather.tables import CYCLES
from pfcomp.relayout.spots import WORDS

Partners = tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class DirectStep:
    """A block of `units` source units and the word address in the target for each cycle, None if nobody wants it.

    A wide step puts two units into neighbouring long words in each cycle.
    """

    block: int
    units: int
    targets: tuple[int | None, ...]

    @property
    def wide(self) -> bool:
        return self.units > CYCLES


def direct_steps(direct: Sequence[Straight], partners: Partners) -> list[DirectStep]:
    """Wide steps for the blocks where they will do, else narrow ones; `direct` are long words by ascending source.

    `partners` are the two units of each cycle of a wide step, () if there are no wide steps.
    """
    if not partners:
        return list(_narrow(direct))
    steps: list[DirectStep] = []
    size = 2 * CYCLES
    for block, group in groupby(direct, key=lambda item: item.source // WORDS // size):
        items = list(group)
        wide = _wide(block, items, partners)
        steps.extend(_narrow(items) if wide is None else [wide])
    return steps


def _wide(block: int, items: Sequence[Straight], partners: Partners) -> DirectStep | None:
    """The wide step for a block, if each pair of partners goes to an aligned pair of long words or nowhere."""
    at = {item.source // WORDS % (2 * CYCLES): item.target for item in items}
    if len(at) < len(items):
        return None
    pairs = [(at.get(first), at.get(second)) for first, second in partners]
    for first, second in pairs:
        together = first is not None and second == first + WORDS and first % (2 * WORDS) == 0
        if not together and (first is not None or second is not None):
            return None
    return DirectStep(block, 2 * CYCLES, tuple(first for first, _ in pairs))


def _narrow(direct: Sequence[Straight]) -> Iterator[DirectStep]:
    """Steps of four units; a unit that is wanted in several places takes several steps."""
    for block, group in groupby(direct, key=lambda item: item.source // WORDS // CYCLES):
        waiting: list[list[int]] = [[] for _ in range(CYCLES)]
        for item in group:
            waiting[item.source // WORDS % CYCLES].append(item.target)
        for number in range(max(map(len, waiting))):
            yield DirectStep(block, CYCLES, tuple(t[number] if number < len(t) else None for t in waiting))


def widened(direct: Sequence[Straight]) -> list[Straight]:
    """Pairs of long words that are neighbours in source and target as one item of four words."""
    found: list[Straight] = []
    for item in direct:
        last = found[-1] if found else None
        if last is not None and last.width == item.width == WORDS and _neighbours(last, item):
            found[-1] = Straight(2 * WORDS, last.target, last.source)
        else:
            found.append(item)
    return sorted(found, key=lambda item: (-item.width, item.source, item.target))


def _neighbours(first: Straight, second: Straight) -> bool:
    pair = (first.target + WORDS, first.source + WORDS)
    return (second.target, second.source) == pair and first.target % (2 * WORDS) == first.source % (2 * WORDS) == 0
