"""The schedule: what runs in which order, where every value lies, and how regions are cut into time slices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pfcomp.ir.model import MNGraph, MNNode
from pfcomp.plan.axes import AxisTable
from pfcomp.plan.blocks import Block
from pfcomp.plan.tasks import Task


@dataclass(frozen=True, slots=True)
class Region:
    """Nodes that share an axis table and LM.

    `once` runs first, then `repeated` for every block, then `last`. Values that do not differ between blocks are
    made in `once` and stored in `last`; with a single block everything is in `repeated`. The tensors `whole` do differ
    but lie in LM entirely, loaded once or stored last, because their parts are no whole rows in DRAM.
    """

    table: AxisTable
    blocks: tuple[Block, ...]
    once: tuple[MNNode, ...]
    repeated: tuple[MNNode, ...]
    last: tuple[MNNode, ...]
    whole: tuple[str, ...] = ()

    @property
    def full(self) -> Block:
        """The block that covers all the others."""
        digits = zip(*(block.ranges for block in self.blocks), strict=True)
        return Block(tuple((0, max(high for _, high in ranges)) for ranges in digits))

    def origin(self, name: str, shape: tuple[int, ...], block: Block) -> int:
        """The first address (long words per PE) of a tensor that its on-chip copy holds while `block` is computed."""
        return 0 if name in self.whole else block.part(shape, self.table)[0]

    @property
    def nodes(self) -> tuple[MNNode, ...]:
        return self.once + self.repeated + self.last


@dataclass(frozen=True, slots=True)
class Schedule:
    """The planned graph: regions, which stream element-wise work, or tasks; whatever there is runs in order.

    `contents` has the constants that the planner made: tables of kernels, and space for values that are stored aside.
    """

    graph: MNGraph
    regions: tuple[Region, ...] = ()
    tasks: tuple[Task, ...] = ()
    contents: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    float_dtype: str = "mixed"

    @property
    def nodes(self) -> tuple[MNNode, ...]:
        """All nodes in the order in which they run."""
        return tuple(node for region in self.regions for node in region.nodes) + tuple(t.node for t in self.tasks)
