"""Exchanges of L1B places with the upper three MAB places, and of either with the address (M12, M12', M13).

`l2bmd` takes 8 long words of every L1B in turn, which are two MABs' rows; other operations take the 64 long words of
one L1B. Going up one way and down the other turns L1Bs into pairs of MABs, or pairs of MABs into L1Bs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.transfer import L1BM_SIZE, L2BM_SIZE
from pfcomp.relayout.moves import lanes
from pfcomp.relayout.moves.model import (
    COPY,
    L1B,
    MAB,
    Places,
    Store,
    Universe,
    Values,
    bit_rows,
    by_stride,
    combinations,
    count,
    held,
)

UPPER_MAB = MAB[1:]
ROW = 64
PAIRS = 8
"""Pairs of MABs, and L1Bs."""

SLACK = 192
MOST_ROWS = min((L1BM_SIZE - SLACK) // ROW, L2BM_SIZE // ROW // PAIRS)
MARGIN = 14


@dataclass(frozen=True)
class Interleave:
    """With `split` the pairs of MABs take what the L1Bs held, and these take items of the address or of the pairs.

    Otherwise the L1Bs take what the pairs of MABs held, and these take items of the address or of the L1Bs. Copies
    may be taken instead of items.
    """

    universe: Universe
    before: Places
    after: Places
    split: bool

    @property
    def exact(self) -> bool:
        return True

    @property
    def _chosen(self) -> tuple[int, ...]:
        """The places that take what they like; the others get what these held."""
        return L1B if self.split else UPPER_MAB

    @property
    def _given(self) -> tuple[int, ...]:
        return UPPER_MAB if self.split else L1B

    @cached_property
    def _taken(self) -> tuple[int, ...]:
        """The items that come from the address."""
        return tuple(i for i in held(self.after, self._chosen) if i >= 0 and i not in self.before)

    @cached_property
    def _left(self) -> tuple[int, ...]:
        """The items that go to the address."""
        return tuple(i for i in held(self.before, self._given) if i >= 0 and i not in self.after)

    def _inner(self) -> tuple[int, ...]:
        return tuple(i for i in self.universe.address_items(self.before) if i not in self.after)

    @cached_property
    def _batch(self) -> int:
        """Combinations of the inner items that go together."""
        total = count(self.universe, self._inner())
        most = MOST_ROWS >> max(len(self._taken), len(self._left))
        return total if total <= most else most // 2

    @property
    def steps(self) -> int:
        total = count(self.universe, self._inner())
        up, down = total << len(self._taken), total << len(self._left)
        copies = 1 << sum(self.after[p] == COPY for p in L1B)
        rows = down * PAIRS // (copies if self.split else 1)
        return 2 * (up if self.split else down) + rows + -(-total // self._batch) * MARGIN

    def emit(self, context: KernelContext, source: Store, target: Store) -> None:
        inner = combinations(self.universe, by_stride(self._inner(), target))
        for start in range(0, len(inner), self._batch):
            batch = inner[start : start + self._batch]
            taken = self._with(self._taken, batch)
            left = self._with(self._left, batch)
            rows = max(len(taken), len(left))
            buffer = context.rings.l1bm.take(rows * ROW + SLACK, ROW)
            image = context.rings.l2bm.take(rows * ROW * PAIRS, ROW * PAIRS)
            reads = source.addresses(taken).tolist()
            for row in range(0, len(reads), 4):
                vector = operands.vector(source.location, reads[row : row + 4])
                context.builder.op("l1bmd", vector, to=operands.l1bm(buffer + ROW * row))
            (self._split if self.split else self._merge)(context, buffer, image, batch)
            writes = target.addresses(left).tolist()
            for row in range(0, len(writes), 4):
                to = lanes.target(target.location, writes[row : row + 4])
                context.builder.op("l1bmd", operands.l1bm(buffer + ROW * row), to=to)

    def _with(self, items: tuple[int, ...], batch: Values) -> Values:
        """The rows of a batch for every value of the items, those of the first value first."""
        values = combinations(self.universe, items)
        return (values[:, None, :] + batch).reshape(-1, batch.shape[1])

    def _sources(self) -> Iterator[tuple[int, int, int, int]]:
        """For every new coordinate of the chosen places and value of what is left: where it comes from.

        Yields the coordinate, the number of the left value, the old coordinate of the given places, and the number
        of the taken value.
        """
        coordinates = bit_rows(self.after, self._chosen, len(self.universe.sizes))
        numbers = {tuple(v): n for n, v in enumerate(combinations(self.universe, self._taken)[:, self._taken].tolist())}
        old = held(self.before, self._given)
        for left, value in enumerate(combinations(self.universe, self._left)):
            for coordinate, bits in enumerate(coordinates):
                both = value + bits
                origin = sum(int(both[i]) << bit for bit, i in enumerate(old) if i >= 0)
                yield coordinate, left, origin, numbers[tuple(int(both[i]) for i in self._taken)]

    def _split(self, context: KernelContext, buffer: int, image: int, batch: Values) -> None:
        """Rows of all L1Bs go up interleaved; each L1B gets rows of 64 of its own."""
        size = len(batch)
        for start in range(0, (size << len(self._taken)) * ROW, ROW // 2):
            context.builder.op("l2bmd", operands.l1bm(buffer + start), to=operands.l2bm(image + PAIRS * start))
        copies = sum(1 << bit for bit, p in enumerate(L1B) if self.after[p] == COPY)
        for l1b, left, pair, taken in self._sources():
            if l1b & copies:
                continue
            mnemonic = f"l2bmb@{l1b}/{copies}" if copies else f"l2bmb@{l1b}"
            for row in range(size):
                read = operands.l2bm(image + ((taken * size + row) * PAIRS + pair) * ROW)
                place = buffer + (left * size + row) * ROW
                context.builder.op("l2bmb" if copies == PAIRS - 1 else mnemonic, read, to=operands.l1bm(place))

    def _merge(self, context: KernelContext, buffer: int, image: int, batch: Values) -> None:
        """Rows of 64 of each L1B go up; what they have in common comes down interleaved."""
        size = len(batch)
        for pair, left, l1b, taken in self._sources():
            for row in range(size):
                read = operands.l1bm(buffer + (taken * size + row) * ROW)
                place = image + ((left * size + row) * PAIRS + pair) * ROW
                context.builder.op(f"l2bm@{l1b}", read, to=operands.l2bm(place))
        for start in range(0, (size << len(self._left)) * ROW, ROW // 2):
            context.builder.op("l2bmd", operands.l2bm(image + PAIRS * start), to=operands.l1bm(buffer + start))
