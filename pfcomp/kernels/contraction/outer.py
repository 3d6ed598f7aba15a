"""Products by the vector unit: every MAB forms rows of the result as sums of a number times a vector.

One operand is *kept*: its own axis fills PEs and words, its reduced axis lies in L2Bs, L1Bs and addresses, and all MABs
hold copies. The other one, *dealt*, has its own axis over the MABs, copies in PEs and words, and the reduced axis as
the kept one has it. So nothing has to be turned; sums over L1Bs and L2Bs are formed on the way back, where all MABs get
all rows. Everything is single precision, which is enough for all products of Float.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from pfcomp.ir.model import DType
from pfcomp.kernels.api import Binding, Job
from pfcomp.kernels.contraction.aimed import places
from pfcomp.kernels.contraction.mapping import Axis, strided, used
from pfcomp.layout import Layout, with_broadcast
from pfcomp.layout.canonical import canonical
from pfcomp.layout.model import Level, Subaxis

NAME = "outer"
"""The first word of a variant; the second one is the letter of the kept operand."""

MABS = 16
ROW = 64
"""Long words of one result place of all MABs: what one L2BM step moves from or to one L1B."""
IN_L1B, OVER_L1BS, OVER_L2BS = 8, 8, 6
"""Steps of latency: from the last product to the first row, and what L1Bs and L2Bs add."""
MOVE = 3 / 128
"""Steps of the two MVs per long word."""


@dataclass(frozen=True, slots=True)
class Roles:
    """Digits of the kept operand's own axis and of the reduced one, and how long the dealt operand's own axis is.

    `kept` is the number of the kept operand.
    """

    kept: int
    own: Axis
    depth: Axis
    rows: int

    @property
    def shared(self) -> int:
        """MABs that have rows of their own."""
        return min(MABS, 1 << (self.rows - 1).bit_length())

    @property
    def rounds(self) -> int:
        """Rows of each of them."""
        return -(-self.rows // self.shared)

    def ordered(self, of_kept: Axis, of_dealt: Axis) -> Layout:
        """The layout of the result."""
        return with_broadcast(Layout((of_dealt, of_kept) if self.kept else (of_kept, of_dealt)))


def outer_products(job: Job, offered: Sequence[Sequence[Layout]]) -> Iterator[Binding]:
    """Ways that keep an offered layout; the result lies where it is wanted if only addresses would differ."""
    if job.outputs[0].dtype is not DType.FLOAT or any(len(spec.shape) != 2 for spec in job.inputs):
        return
    for kept, layouts in enumerate(offered):
        for layout in layouts:
            axes = canonical(layout).axes
            roles = Roles(kept, axes[kept], axes[1 - kept], job.outputs[0].shape[1 - kept])
            if _usable(roles, job.inputs[kept].shape[1 - kept]):
                yield _binding(roles, layout, job.wanted)


def _usable(roles: Roles, depth: int) -> bool:
    """Whether the own axis, and nothing else, fills PEs and words, and MABs hold copies of whole sums."""
    spatial = [sub for sub in (*roles.own, *roles.depth) if sub.level is not Level.ADDR]
    return (
        prod(sub.size for sub in roles.depth) == depth
        and all(sub.level in (Level.L2B, Level.L1B) for sub in roles.depth if sub.level is not Level.ADDR)
        and not any(sub.level in (Level.MAB, Level.TIME) for sub in roles.own)
        and (used(roles.own, Level.PE), used(roles.own, Level.W)) == (3, 1)
        and used(roles.depth, Level.L2B) in (0, Level.L2B.extent - 1)
        and all(number & (number - 1) == 0 for sub in spatial for number in (sub.size, sub.stride))
    )


def _binding(roles: Roles, layout: Layout, wanted: Sequence[Layout]) -> Binding:
    """The result with its rows side by side, or in a wanted layout that differs in addresses only."""
    dealt_own, stride = strided((Subaxis(roles.rounds), Subaxis(roles.shared, Level.MAB)), 1)
    dealt_depth, _ = strided(roles.depth, stride)
    dealt = with_broadcast(Layout((dealt_own, dealt_depth) if roles.kept else (dealt_depth, dealt_own)))
    rows = Subaxis(roles.rounds * roles.shared)
    result = roles.ordered(strided(roles.own, rows.size)[0], (rows,))
    result = next((found for found in wanted if places(found) == places(result)), result)
    inputs = (dealt, layout) if roles.kept else (layout, dealt)
    return Binding(inputs, (result,), _steps(roles, result), f"{NAME} {'AB'[roles.kept]}")


def _steps(roles: Roles, result: Layout) -> int:
    """Products, transfers up, sums, rows down."""
    cells = roles.rounds * _addresses(roles.own)
    vectors = -(-cells // 4)
    rows = result.axes[1 - roles.kept]
    down = cells * -(-roles.shared // (8 if rows and rows[-1] == Subaxis(rows[-1].size) else 4))
    steps = vectors * _addresses(roles.depth) + vectors + down + IN_L1B
    if used(roles.depth, Level.L1B) or used(roles.depth, Level.L2B):
        sets = prod(sub.size for sub in roles.own if sub.level is Level.L1B)
        steps += 2 * cells * sets + OVER_L1BS
        if used(roles.depth, Level.L2B):
            steps += OVER_L2BS + round(cells * sets * ROW * MOVE)
    return steps


def _addresses(axis: Axis) -> int:
    return prod(sub.size for sub in axis if sub.level is Level.ADDR)
