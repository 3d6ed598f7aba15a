"""Emission of ArgMax and ArgMin.

The extreme value is reduced first. Then every element that equals it offers the key n - index, the others offer 0, and
the keys are reduced to the largest one. Keys are whole numbers in single precision, so that both units share the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import Address, Operand, Place
from pfcomp.isa.pack import Virtual, neg
from pfcomp.kernels import operands
from pfcomp.kernels.api import KernelContext, Placed
from pfcomp.kernels.lanes import WORD_BITS, Lanes, decode
from pfcomp.kernels.reduction.emission import VECTOR, Quad, batches
from pfcomp.kernels.reduction.geometry import Geometry
from pfcomp.kernels.reduction.local import LocalReduction
from pfcomp.kernels.reduction.monoids import LARGEST_KEY, Monoid
from pfcomp.kernels.reduction.network import LaneReduction
from pfcomp.kernels.reduction.stream import Value
from pfcomp.layout import Level

MAGIC = 0x4B400000
"""1.5 * 2^23: a whole number below 2^22 added to its bits is added to its value (isa.md 22.2)."""

MOST_CONSTANTS = 32
"""Addresses whose index has a constant of its own; for longer axes the key is counted down."""

LOW_WORD = 0xFFFFFFFF
MASKS_IN_FLIGHT = 3


def _single(number: int) -> int:
    """The bits of a whole number in single precision."""
    return int(np.float32(number).view(np.uint32))


class ArgEmission:
    """Writes the indices of the extreme elements of an operand along `axis`."""

    def __init__(self, context: KernelContext, monoid: Monoid, found: Geometry, placed: Placed, axis: int) -> None:
        self.context, self.found = context, found
        self.source: MNValue = placed.inputs[0]
        self.target: MNValue = placed.outputs[0]
        self.length = self.source.shape[axis]
        self.clean = monoid.clean
        self.compare = "lxor" if self.source.dtype.bits == 64 else "ixor"
        self.values = LocalReduction(context, replace(monoid, clean=""))
        self.keys = LocalReduction(context, LARGEST_KEY, self.values)
        self.best_lanes = LaneReduction(self.values, found.fields)
        self.key_lanes = LaneReduction(self.keys, found.fields)
        self.e = self.values.e
        self.entries = [context.mask() for _ in range(MASKS_IN_FLIGHT)]
        self.first_key = self._first_key(axis)
        reached = decode(self.source.layout, Level.ADDR)
        self.steps = [reached[offset][axis] for offset in found.offsets]

    def _first_key(self, axis: int) -> Virtual:
        """n - index of the lane's element at the first address."""
        lanes = Lanes(self.context, self.source.layout, self.source.dtype.bits)
        biased = self.context.builder.op("isub", lanes.constants.twice(MAGIC + self.length), lanes.index(axis))
        return self.context.builder.op("fvadd", biased, neg(lanes.constants.twice(MAGIC)))

    def run(self) -> None:
        """Emit everything."""
        for quads in batches(self.found.kept, self.best_lanes.batch):
            best: dict[int, Value] = {}
            self.best_lanes.reduce([self._best(quad) for quad in quads], best.__setitem__)
            keys = [self._key(quad, best[position]) for position, quad in enumerate(quads)]
            self.key_lanes.reduce(keys, partial(self._at, quads))

    def _at(self, quads: Sequence[Quad], position: int, key: Value) -> None:
        self._finish(quads[position], key)

    def _cleaned(self, x: Value) -> Value:
        return self.e.op(self.clean, x) if self.clean else x

    def _terms(self, quad: Quad) -> list[Value]:
        return self.values.terms(self.source, [address for address, _ in quad], self.found.offsets)

    def _best(self, quad: Quad) -> Value:
        self.e.begin_vector()
        return self._cleaned(self.values.fold(self._terms(quad)))

    def _key(self, quad: Quad, best: Value) -> Value:
        """The largest key of all addresses."""
        rows = len(self.found.kept)
        by_constants = len(self.steps) <= MOST_CONSTANTS and rows > VECTOR  # one vector does not repay their loading
        keys = self._by_constants() if by_constants else self._counted_down()
        total: Value | None = None
        for number, (term, key) in enumerate(zip(self._terms(quad), keys, strict=True)):
            entry = self.entries[number % MASKS_IN_FLIGHT]
            equal = self.e.op(self.compare, self._cleaned(term), best)
            self.e.store(equal, Operand(Place.MASK, address=Address(entry)))
            offered = self.e.op(f"{key[0]}/$imr{entry}", *key[1:])
            total = offered if total is None else self.keys.combine(total, offered)
        if total is None:
            raise ValueError("an axis without elements")
        return total

    def _by_constants(self) -> Iterator[tuple[str, *tuple[Virtual, ...]]]:
        """For every address the operation that computes the lane's key: the first one less the address' index."""
        for index in self.steps:
            if index:
                yield "fvadd", self.first_key, neg(self.e.twice(_single(index)))
            else:
                yield "fvpassa", self.first_key

    def _counted_down(self) -> Iterator[tuple[str, *tuple[Value, ...]]]:
        """The same for long axes: each key is computed from the one before, there are few differences."""
        key: Value = self.first_key
        for before, index in pairwise((0, *self.steps)):
            if index != before:
                key = self.e.op("fvadd", key, neg(self.e.twice(_single(index - before))))
            yield "fvpassa", key

    def _finish(self, quad: Quad, key: Value) -> None:
        """Write the index of a key as 64-bit integers."""
        index = self.e.op("fftoi", self.e.op("fvadd", self.e.twice(_single(self.length)), self.e.negated(key)))
        low_word = self.e.pair(0, LOW_WORD)
        if self.source.dtype.bits == 64 or not self.found.fields[Level.W].kept:
            self._store(self.e.op("land", index, low_word), [address for _, address in quad])
        else:
            self._store(self.e.op("ullsr", index, self.e.twice(WORD_BITS)), [2 * address for _, address in quad])
            self._store(self.e.op("land", index, low_word), [2 * address + 1 for _, address in quad])

    def _store(self, x: Value, addresses: Sequence[int]) -> None:
        start = self.target.address or 0
        self.e.store(x, operands.vector(self.target.location, [start + address for address in addresses]))
