"""Search after search of the layout planner, each knowing more about what moves take than the one before."""

from __future__ import annotations

from functools import partial

from pfcomp.plan.anneal import Annealing, Found
from pfcomp.plan.beam import Planner
from pfcomp.plan.costs import TOO_DEAR
from pfcomp.plan.no_room import NoRoomError

ROUNDS, MOST_ROUNDS = 4, 12
"""Plans that are tried; the most while the estimates promise better."""
HOPE = 1.25
"""How much more than estimated the best plan may take to be good enough."""
NARROW = 4
"""States that survive each node while a plan is annealed."""


def plans(planner: Planner) -> list[Found]:
    """The plans found, the cheapest first.

    What the moves of a plan really take is learnt from it, and the next plan may do without the dear ones. Raises
    UnsupportedError PF0421 where a node fits into no state.
    """
    found: list[Found] = []
    for number in range(MOST_ROUNDS):
        best = min(found, key=_steps)[0] if found else TOO_DEAR
        if number >= ROUNDS and best >= TOO_DEAR:
            planner.moving.rearrangements.guesses = False  # what has no room is found one by one otherwise
        try:
            final = planner.search([], {}, planner.width)[0]
        except NoRoomError:
            if best < TOO_DEAR:
                break
            raise
        if number >= ROUNDS and best <= HOPE * final.steps:
            break
        steps, news = planner.moving.price(actions := final.actions(), final.steps)
        found.append((steps, actions))
        if not news:
            break
    found.sort(key=_steps)
    steps, actions = found[0]
    if steps >= TOO_DEAR:
        what = "every plan that was found moves a tensor between layouts with more local memory than there is"
        raise NoRoomError("PF0421", what, tensors=planner.moving.without_room(actions))
    return [plan for plan in found if plan[0] < TOO_DEAR]


def annealed(planner: Planner, steps: int, best: int) -> list[Found]:
    """Plans with less than `best` steps that as many steps of annealing find after `plans`, the cheapest first."""
    annealing = Annealing(partial(planner.search, width=NARROW), planner.moving.price, planner.met, steps)
    return annealing.run(best)[::-1]


def _steps(found: Found) -> int:
    return found[0]
