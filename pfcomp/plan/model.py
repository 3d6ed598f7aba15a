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
    """The planned graph with its regions, which run one after the other."""

    graph: MNGraph
    regions: tuple[Region, ...]
