"""What the layout planner knows at a point of the graph: a state, which is never changed but followed by others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from pfcomp.ir.model import MNNode
from pfcomp.kernels.api import Job
from pfcomp.layout import Layout
from pfcomp.layout.canonical import canonical
from pfcomp.plan.choices import Action, Compute, Rearrange, Rename

Layouts = tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class Trail:
    """Actions so far, newest first."""

    action: Action
    before: Trail | None


@dataclass(frozen=True, slots=True)
class Waiting:
    """A tensor that is still in DRAM without a layout: `root` seen through the renamings `jobs`, outermost last."""

    root: str
    nodes: tuple[tuple[MNNode, Job], ...] = ()


@dataclass(frozen=True, slots=True)
class State:
    """`there` has the layouts of tensors in local memory, `waiting` those not loaded yet, `images` chosen images.

    `owed` are steps that are known to follow: results have to be moved to the layouts of their images.
    """

    steps: int
    there: Mapping[str, Layouts]
    waiting: Mapping[str, Waiting]
    images: Mapping[str, Layout]
    trail: Trail | None = None
    owed: int = 0

    def key(self) -> tuple[object, ...]:
        """Equal for states that have the same future."""
        there = frozenset((n, frozenset(map(name_of, layouts))) for n, layouts in self.there.items())
        images = frozenset((n, name_of(layout)) for n, layout in self.images.items())
        return there, frozenset(self.waiting), images

    def did(self, action: Action, steps: int) -> State:
        return replace(self, steps=self.steps + steps, trail=Trail(action, self.trail))

    def with_copy(self, tensor: str, layout: Layout) -> State:
        """The tensor exists in `layout` as well."""
        present = self.there.get(tensor, ())
        if name_of(layout) in map(name_of, present):
            return self
        waiting = {name: w for name, w in self.waiting.items() if name != tensor}
        return replace(self, there={**self.there, tensor: (*present, layout)}, waiting=waiting)

    def actions(self) -> list[Action]:
        found: list[Action] = []
        trail = self.trail
        while trail is not None:
            found.append(trail.action)
            trail = trail.before
        return found[::-1]


def way_of(state: State, node: MNNode) -> str:
    """How a node was computed, in a state behind it: the same for the same layouts and kernel."""
    trail = state.trail
    while trail is not None:
        action = trail.action
        if isinstance(action, Compute) and action.node is node:
            return "; ".join((*map(name_of, (*action.binding.inputs, *action.binding.outputs)), action.binding.variant))
        if isinstance(action, Rearrange | Rename) and action.node is node:
            return name_of(action.target)
        trail = trail.before
    return ""


@lru_cache(maxsize=1 << 16)
def name_of(layout: Layout) -> str:
    """The same for layouts that put every element into the same place."""
    return str(canonical(layout))
