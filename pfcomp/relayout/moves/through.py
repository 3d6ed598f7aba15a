"""Exchanges and gathers through the upper memories: L1BM alone, L2BM (M7, M14, M15), PDM (M20, M21).

The value goes up block by block: a block is what a batch of addresses of one L1B takes in L1BM. Address items that
become L1B or L2B digits number the blocks; so do, on the way down, the digits that leave those levels. L2BM rows and
MVs bring whole blocks to wherever they belong, with copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.transfer import L1BM_SIZE, L2BM_SIZE
from pfcomp.relayout.moves import lanes, upper
from pfcomp.relayout.moves.crossing import Crossing, crossing
from pfcomp.relayout.moves.model import (
    COPY,
    L1B,
    L2B,
    MAB,
    PE,
    Places,
    Store,
    Universe,
    Values,
    bit_rows,
    by_stride,
    combinations,
    count,
    held,
    valid,
)

Form = Literal["l1bmd", "l1bmm", "l1bmp"]
"""How values come down: every MAB its own, all MABs the same, or all PEs the same."""

ROW = 64
SLACK = 192
"""A step up writes four rows, also where a block has fewer."""
UNIT = {"l1bmd": 64, "l1bmm": 4, "l1bmp": 1}
"""Long words of L1BM that one long word of a PE's share takes."""
MARGIN = 12
"""Latencies between the memories (isa.md 17)."""


@dataclass(frozen=True)
class Through:
    """L2B and L1B places take items of the address or copies, and the places below `form` take copies.

    `paired` says that neighbouring MABs (or, if all hold the same, addresses) become neighbours in memory.
    """

    universe: Universe
    before: Places
    after: Places
    form: Form
    paired: bool

    @property
    def exact(self) -> bool:
        return True

    @cached_property
    def l2b(self) -> Crossing:
        """What L2Bs exchange."""
        return crossing(self.universe, held(self.before, L2B), held(self.after, L2B))

    @cached_property
    def l1b(self) -> Crossing:
        """What L1Bs of an L2B exchange."""
        return crossing(self.universe, held(self.before, L1B), held(self.after, L1B))

    @property
    def collected(self) -> bool:
        """True if all MABs hold the same, so that one of them goes up."""
        return all(self.before[p] == COPY for p in MAB)

    @property
    def per_address(self) -> int:
        """Long words of L1BM for each address that goes up."""
        return UNIT["l1bmm"] if self.collected else UNIT["l1bmd"]

    @property
    def up_blocks(self) -> int:
        """Blocks of one L1B on the way up."""
        return len(self.l2b.taken) * len(self.l1b.taken)

    @property
    def down_blocks(self) -> int:
        """Blocks of one L1B on the way down."""
        return len(self.l2b.left) * len(self.l1b.left)

    @property
    def rows(self) -> bool:
        """True if L2BM holds the blocks of the L1Bs one after the other, False if it holds them interleaved."""
        return self.l1b.changes or all(self.before[p] == COPY for p in L1B)

    @property
    def parts(self) -> int:
        """What one block of an L1B becomes in L2BM, in blocks: those of all L1Bs, or of the ones that differ."""
        return len(self.l1b.senders) if self.rows else 8

    def inner(self) -> tuple[int, ...]:
        """The items that stay in the address."""
        return tuple(i for i in self.universe.address_items(self.before) if i not in self.after)

    def block(self, addresses: int) -> int:
        """Long words of a block of so many addresses: whole rows."""
        return -(-addresses * self.per_address // ROW) * ROW

    @property
    def batch(self) -> int:
        """Addresses that go together: as many as fit, or half of that if not all do; 0 if not even one fits."""
        total = count(self.universe, self.inner())
        across = max(self.up_blocks, self.down_blocks)
        l2bm = max(self.up_blocks * self.parts, len(self.l2b.left) * self.parts * len(self.l1b.taken))
        most = min((L1BM_SIZE - SLACK) // across, L2BM_SIZE // l2bm if self.raised else L1BM_SIZE) // ROW * ROW
        if self.block(total) <= most:
            return total
        half = max(most // 2 // ROW * ROW, min(most, ROW)) // self.per_address
        return half if half < 4 else half // 4 * 4

    @property
    def raised(self) -> bool:
        """True if L2BM takes part."""
        return self.l1b.changes or self.l2b.changes

    @property
    def steps(self) -> int:
        total, batch = count(self.universe, self.inner()), self.batch
        full, rest = divmod(total, batch)
        return full * self._batch_steps(batch) + (self._batch_steps(rest) if rest else 0)

    def _batch_steps(self, addresses: int) -> int:
        block = self.block(addresses)
        up = self.up_blocks * -(-addresses // 4)
        down = self.down_blocks * self._deliveries(addresses)
        if not self.raised:
            return up + down + MARGIN
        above_up, above_down = upper.steps(self, block)
        return max(up, above_up) + max(down, above_down) + upper.transfer_steps(self, block) + MARGIN

    def _deliveries(self, addresses: int) -> int:
        """Steps in which so many addresses of a block come down; steps that would bring copies only are left out."""
        units = [p for level in self._gathered() for p in (() if self.collected and level is MAB else level)]
        units = units if self.form != "l1bmp" or self.collected else [*PE, *MAB]
        items = sum(self.before[p] >= 0 for p in units[2:])
        if not units:
            return -(-addresses // (8 if self.paired and self.form == "l1bmm" else 4))
        pairs = self.paired and all(self.before[p] >= 0 for p in units[:3])
        return -(-(addresses << items) // (2 if pairs else 1))

    def _gathered(self) -> tuple[tuple[int, ...], ...]:
        """The levels below L1B that take copies."""
        return {"l1bmd": (), "l1bmm": (MAB,), "l1bmp": (MAB, PE)}[self.form]

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        values = combinations(self.universe, by_stride(self.inner(), target))
        for number, start in enumerate(range(0, len(values), self.batch)):
            batch = values[start : start + self.batch]
            block = self.block(len(batch))
            size = max(self.up_blocks, self.down_blocks) * block + SLACK
            buffer = context.rings.l1bm.take(size, ROW)
            self._up(context, source, batch, buffer)
            if self.raised:
                upper.emit(self, context, block, buffer, number)
            self._down(context, target, batch, buffer)

    def _up(self, context: KernelContext, source: Store, batch: Values, buffer: int) -> None:
        mnemonic = "l1bmm@0" if self.collected else "l1bmd"
        place = buffer
        for high in self.l2b.taken:
            for low in self.l1b.taken:
                values = batch + high + low
                reads = np.where(valid(self.universe, values), source.addresses(values), source.base).tolist()
                for start in range(0, len(reads), 4):
                    to = operands.l1bm(place + start * self.per_address)
                    context.builder.op(mnemonic, operands.vector(source.location, reads[start : start + 4]), to=to)
                place += self.block(len(batch))

    def _down(self, context: KernelContext, target: Store, batch: Values, buffer: int) -> None:
        place = buffer
        for high in self.l2b.left:
            for low in self.l1b.left:
                _deliver(context, self.form, place, self._units(batch + high + low, target), target)
                place += self.block(len(batch))

    def _units(self, values: Values, target: Store) -> list[int | None]:
        """Where each unit of a block goes, in the order in which L1BM holds them; None for nowhere."""
        wanted = np.ones(len(values), np.bool_)
        for level in self._gathered()[1:] if self.collected else self._gathered():
            values, wanted = self._spread(values, wanted, level)
        wanted &= valid(self.universe, values)
        found = target.addresses(values).tolist()
        return [a if w else None for a, w in zip(found, wanted.tolist(), strict=True)]

    def _spread(
        self, values: Values, wanted: NDArray[np.bool_], level: tuple[int, ...]
    ) -> tuple[Values, NDArray[np.bool_]]:
        """Every row for every coordinate of a level; only the first of copies is wanted."""
        coordinates = bit_rows(self.before, level, len(self.universe.sizes))
        copies = sum(1 << position for position, place in enumerate(level) if self.before[place] == COPY)
        first = np.arange(len(coordinates)) & copies == 0
        spread = (values[:, None, :] + coordinates).reshape(-1, values.shape[1])
        return spread, (wanted[:, None] & first).reshape(-1)


def _deliver(context: KernelContext, form: Form, place: int, units: list[int | None], target: Store) -> None:
    """Bring the units of a block down."""
    start = 0
    while start < len(units):
        pairs = None if form == "l1bmd" else _pairs(form, units[start : start + 8])
        here = units[start : start + (4 if pairs is None else 8)]
        if any(a is not None for a in here):
            to = lanes.target(target.location, here) if pairs is None else lanes.wide(target.location, pairs)
            source = operands.l1bm(place + start * UNIT[form], double=pairs is not None)
            context.builder.op(form, source, to=to)
        start += len(here)


def _pairs(form: Form, units: list[int | None]) -> list[int] | None:
    """The even addresses of the four pairs of long words that eight units make; None if they make none."""
    if len(units) < 8 or any(unit is None for unit in units):
        return None
    both = [unit for unit in units if unit is not None]
    firsts, seconds = (both[::2], both[1::2]) if form == "l1bmm" else (both[:4], both[4:])
    good = all(a % 2 == 0 and b == a + 1 for a, b in zip(firsts, seconds, strict=True))
    return firsts if good else None
