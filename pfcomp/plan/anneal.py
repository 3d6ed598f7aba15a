"""Simulated annealing of a plan: what a beam drops because it looks dear at first may be cheap in the end.

A solution is a set of *pins*: nodes that have to be computed in a certain way. A step pins a node to one of the ways
that searches have met, or frees one, and searches again from that node on with a narrow beam. Better plans are
accepted, and worse ones with a probability that falls with what they cost and as time goes on. What the relayouts of a
promising plan really take is learnt before it is judged, so that guesses do not lead astray.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np

from pfcomp.plan.choices import Action
from pfcomp.plan.no_room import NoRoomError
from pfcomp.plan.states import State

Pins = dict[int, str]
"""Positions of nodes in the graph, and the names of the ways in which they must be computed."""
Trace = list[list[State]]
"""The states before each node, and those behind the last."""
Found = tuple[int, list[Action]]
"""Steps of a plan, and the plan."""

HEAT = 0.02
"""Temperature at the start of a chain, as a share of the steps of its best plan."""
CHAIN = 250
"""Steps of a chain: each cools down from the start, the next one begins with the best pins of the last."""
PROMISING = 1.02
"""Times the steps of the current plan up to which another is worth learning what its relayouts really take."""
FREED = 0.3
"""How often a pinned node that is drawn is freed."""
SEED = 0


@dataclass(frozen=True, slots=True)
class Annealing:
    """`steps` searches, always the same ones.

    `search` continues a trace under pins and returns the cheapest final state with the whole trace. `price` learns what
    a plan of so many steps really takes and says so, with True if anything was new. `ways` are those met so far by
    position; searches add to them.
    """

    search: Callable[[Trace, Pins], tuple[State, Trace]]
    price: Callable[[Sequence[Action], int], tuple[int, bool]]
    ways: Sequence[Collection[str]]
    steps: int

    def run(self, best: int) -> list[Found]:
        """Plans with fewer steps than `best`, each better than the one before it."""
        draw = np.random.default_rng(SEED)
        found: list[Found] = []
        start: Pins = {}
        for begun in range(0, self.steps if self.ways else 0, CHAIN):
            start, plans = self._chain(start, min(CHAIN, self.steps - begun), best, draw)
            found += plans
            best = min([best, *(steps for steps, _ in plans)])
        return found

    def _chain(self, pins: Pins, length: int, best: int, draw: np.random.Generator) -> tuple[Pins, list[Found]]:
        """One cooling; the pins of its best plan, and what it found that is better than `best`."""
        begun = self._searched([], pins)
        if begun is None:  # the beam is narrower than that of the plan at hand
            return pins, []
        state, trace = begun
        current = self.price(state.actions(), state.steps)[0]
        lowest, kept = current, pins
        found: list[Found] = []
        for number in range(length):
            position, changed = self._changed(pins, draw)
            tried = self._searched(trace[: position + 1], changed)
            if tried is None or tried[0].steps > PROMISING * current:
                continue
            state, other = tried
            steps, news = self.price(actions := state.actions(), state.steps)
            heat = HEAT * max(1, lowest) * (1 - number / length)
            if steps <= current or draw.random() < exp((current - steps) / heat):
                current, pins, trace = steps, changed, other
            if steps < lowest:
                lowest, kept = steps, changed
            if steps < best:
                best = steps
                found.append((steps, actions))
            if news:  # states were priced by guesses that are known better now
                again = self._searched([], pins)
                trace = again[1] if again else trace
        return kept, found

    def _searched(self, known: Trace, pins: Pins) -> tuple[State, Trace] | None:
        """What a search finds; None if it ends nowhere."""
        try:
            return self.search(known, pins)
        except NoRoomError:
            return None

    def _changed(self, pins: Pins, draw: np.random.Generator) -> tuple[int, Pins]:
        """Other pins, and the position of the node that differs."""
        position = int(draw.integers(len(self.ways)))
        others = {at: way for at, way in pins.items() if at != position}
        known = [way for way in self.ways[position] if way != pins.get(position)]
        if not known or (position in pins and draw.random() < FREED):
            return position, others
        return position, {**others, position: known[int(draw.integers(len(known)))]}
