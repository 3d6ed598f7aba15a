"""Emission of one reduction: all stages in order, for all addresses of the result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pfcomp.ir.model import DType, MNValue
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext
from pfcomp.kernels.lanes import WORD_BITS
from pfcomp.kernels.reduction.geometry import Geometry
from pfcomp.kernels.reduction.local import MABS, PES, LocalReduction
from pfcomp.kernels.reduction.monoids import Monoid
from pfcomp.kernels.reduction.network import Network
from pfcomp.kernels.reduction.stream import Value
from pfcomp.layout import Level

VECTOR = 4
"""Long words per PE that one step computes."""

Quad = Sequence[tuple[int, int]]
"""Addresses of operand and result of the four cycles of a vector."""


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
        self.network = Network(self.local, found.fields)
        self.scale = scale
        self.crosses = any(field.reduced for field in found.fields.values())

    def run(self) -> None:
        """Emit everything."""
        quads = [self.found.kept[start : start + VECTOR] for start in range(0, len(self.found.kept), VECTOR)]
        for start in range(0, len(quads), self.network.batch):
            self._batch(quads[start : start + self.network.batch])

    def _batch(self, quads: Sequence[Quad]) -> None:
        def finish(position: int, x: Value) -> None:
            start = self.target.address or 0
            to = operands.vector(self.target.location, [start + address for _, address in quads[position]])
            self.local.e.store(self._scaled(x), to)

        self.network.reduce([self._over_lanes(self._over_addresses(quad)) for quad in quads], finish)

    def _over_addresses(self, quad: Quad) -> Value:
        self.local.e.begin_vector()
        start = self.source.address or 0
        terms: list[Value] = [
            operands.vector(self.source.location, [start + address + offset for address, _ in quad])
            for offset in self.found.offsets
        ]
        return self.local.fold(terms)

    def _over_lanes(self, x: Value) -> Value:
        """Words, PEs, and MABs if the network cannot do them."""
        fields, local = self.found.fields, self.local
        if self.crosses:
            x = local.clean(x)
        if fields[Level.W].reduced:
            x = local.words(x)
        x = local.rotated(Level.PE, x, fields[Level.PE], PES)
        return x if self.network.mab_network else local.rotated(Level.MAB, x, fields[Level.MAB], MABS)

    def _scaled(self, x: Value) -> Value:
        e = self.local.e
        if self.scale == 1.0:
            return x
        if self.source.dtype is DType.DOUBLE:
            factor = e.pair(*divmod(int(np.float64(self.scale).view(np.uint64)), 1 << WORD_BITS))
            return e.op("dvfmad", x, factor, e.op("dvmulu", x, factor))
        return e.op("fvmul", x, e.twice(int(np.float32(self.scale).view(np.uint32))))
