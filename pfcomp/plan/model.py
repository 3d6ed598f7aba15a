"""The schedule: what runs in which order, where every value lies, and how regions are cut into time slices."""

from __future__ import annotations

from dataclasses import dataclass

from pfcomp.ir.model import MNGraph, MNNode
from pfcomp.plan.axes import AxisTable
from pfcomp.plan.blocks import Block


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes that share an axis table and LM.

    `once` runs first, then `repeated` for every block, then `last`. Values that do not differ between blocks are
    made in `once` and stored in `last`; with a single block everything is in `repeated`.
    """

    table: AxisTable
    blocks: tuple[Block, ...]
    once: tuple[MNNode, ...]
    repeated: tuple[MNNode, ...]
    last: tuple[MNNode, ...]

    @property
    def nodes(self) -> tuple[MNNode, ...]:
        return self.once + self.repeated + self.last


@dataclass(frozen=True, slots=True)
class Schedule:
    """The planned graph with its regions, which run one after the other."""

    graph: MNGraph
    regions: tuple[Region, ...]
