"""What the moves of a plan take: guesses at first, which are replaced by what is learnt from plans that use them."""

from __future__ import annotations

from collections.abc import Sequence

from pfcomp.plan.choices import Action, Rearrange, Relay
from pfcomp.plan.costs import TOO_DEAR, RelayCosts
from pfcomp.plan.lower.graph import CoreGraph
from pfcomp.plan.rearranging import RearrangeCosts


class MovingCosts:
    """Steps of relayouts and rearrangements; `room` is in long words of one memory."""

    def __init__(self, graph: CoreGraph, float_dtype: str, room: int) -> None:
        self.graph, self.float_dtype = graph, float_dtype
        self.relays, self.rearrangements = RelayCosts(room), RearrangeCosts(room)

    def price(self, actions: Sequence[Action], guessed: int) -> tuple[int, bool]:
        """What a plan really takes that was thought to take `guessed` steps; True if anything new was learnt."""
        before = sum(map(self._steps, actions))
        learnt = [self._learn(action) for action in actions]
        return guessed - before + sum(map(self._steps, actions)), any(learnt)

    def without_room(self, actions: Sequence[Action]) -> list[str]:
        """The tensors whose moves are known to find no room."""
        dear = [action for action in actions if self._steps(action) >= TOO_DEAR]
        relays = [action.tensor for action in dear if isinstance(action, Relay)]
        return relays + [action.node.outputs[0] for action in dear if isinstance(action, Rearrange)]

    def _steps(self, action: Action) -> int:
        """What is known or thought now; 0 for actions that move nothing."""
        if isinstance(action, Relay):
            return self.relays.steps(self.graph.specs[action.tensor], action.source, action.target)
        if isinstance(action, Rearrange):
            job = self.graph.job(action.node, self.float_dtype)
            return self.rearrangements.steps(job, action.sources, action.target)
        return 0

    def _learn(self, action: Action) -> bool:
        """Find out what an action takes; False if that was known."""
        if isinstance(action, Relay):
            return self.relays.learn(self.graph.specs[action.tensor], action.source, action.target)
        if isinstance(action, Rearrange):
            job = self.graph.job(action.node, self.float_dtype)
            return self.rearrangements.learn(job, action.sources, action.target)
        return False
