"""Emission of one reduction: all stages in order, for all addresses of the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from pfcomp.ir.model import DType, MNValue
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.lanes import WORD_BITS
from pfcomp.kernels.reduction.geometry import Geometry
from pfcomp.kernels.reduction.local import LocalReduction
from pfcomp.kernels.reduction.monoids import Monoid
from pfcomp.kernels.reduction.network import LaneReduction
from pfcomp.kernels.reduction.stream import Value

VECTOR = 4
"""Long words per PE that one step computes."""

MANY_ADDRESSES = 20
"""Addresses from which on it pays to let the cycles of a vector combine different ones."""

Quad = Sequence[tuple[int, int]]
"""Addresses of operand and result of the four cycles of a vector."""


def batches(kept: Sequence[tuple[int, int]], size: int) -> Iterator[list[Quad]]:
    """The results as vectors, `size` vectors at a time."""
    quads = [kept[start : start + VECTOR] for start in range(0, len(kept), VECTOR)]
    for start in range(0, len(quads), size):
        yield quads[start : start + size]


def spreads(found: Geometry) -> bool:
    """True if one vector has cycles left over, and enough addresses are combined to repay the detour."""
    return len(found.kept) <= VECTOR // 2 and len(found.offsets) >= MANY_ADDRESSES


class Emission:
    """Reduces `source` into `target` and multiplies by `scale`.

    Lanes without an element must be neutral where the geometry says `padded`.
    """

    def __init__(
        self,
        context: KernelContext,
        monoid: Monoid,
        found: Geometry,
        source: MNValue,
        target: MNValue,
        scale: float = 1.0,
    ) -> None:
        self.context, self.found, self.source, self.target = context, found, source, target
        self.local = LocalReduction(context, monoid)
        self.lanes = LaneReduction(self.local, found.fields)
        self.scale = scale

    def run(self) -> None:
        """Emit everything."""
        for quads in batches(self.found.kept, self.lanes.batch):
            self._batch(quads)

    def _batch(self, quads: Sequence[Quad]) -> None:
        def finish(position: int, x: Value) -> None:
            start = self.target.address or 0
            to = operands.vector(self.target.location, [start + address for _, address in quads[position]])
            self.local.e.store(self._scaled(x), to)

        self.lanes.reduce([self._over_addresses(quad) for quad in quads], finish)

    def _over_addresses(self, quad: Quad) -> Value:
        self.local.e.begin_vector()
        if spreads(self.found):
            return self.local.fold(self._spread(quad))
        return self.local.fold(self._terms(quad, self.found.offsets))

    def _terms(self, quad: Quad, offsets: Sequence[int]) -> list[Value]:
        return self.local.terms(self.source, [address for address, _ in quad], offsets)

    def _spread(self, quad: Quad) -> list[Value]:
        """The terms that are left once the cycles of a vector have combined different addresses.

        The result's place, which has room for a vector, takes what each cycle has found.
        """
        ways, offsets = VECTOR // len(quad), self.found.offsets
        whole = len(offsets) // ways * ways
        start, place = self.source.address or 0, self.target.address or 0
        terms: list[Value] = [
            operands.vector(
                self.source.location, [start + a + offset for offset in offsets[first : first + ways] for a, _ in quad]
            )
            for first in range(0, whole, ways)
        ]
        self.local.e.store(self.local.fold(terms), operands.run(self.target.location, place))
        parts = (range(way * len(quad), (way + 1) * len(quad)) for way in range(ways))
        found = [operands.vector(self.target.location, [place + a for a in [*part] * ways]) for part in parts]
        return [*found, *self._terms(quad, offsets[whole:])]

    def _scaled(self, x: Value) -> Value:
        e = self.local.e
        if self.scale == 1.0:
            return x
        if self.source.dtype is DType.DOUBLE:
            factor = e.pair(*divmod(int(np.float64(self.scale).view(np.uint64)), 1 << WORD_BITS))
            return e.op("dvfmad", x, factor, e.op("dvmulu", x, factor))
        return e.op("fvmul", x, e.twice(int(np.float32(self.scale).view(np.uint32))))
