"""The multiplications: tiles in the matrix registers, vectors streamed through them, sums in registers.

Vectors of the streamed operand are normalised once per block of tiles. Tiles go to the two matrix registers in turn,
so that the packer can write one while the other multiplies (backend-kernels.md 3.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

from pfcomp.ir.model import MNValue
from pfcomp.isa.model import Operand
from pfcomp.isa.pack import Builder, Virtual
from pfcomp.kernels.contraction.access import reads
from pfcomp.kernels.contraction.deliver import Sink
from pfcomp.kernels.contraction.loops import Batch, Chunk, Column, Loops, Tile
from pfcomp.kernels.contraction.modes import Mode
from pfcomp.kernels.contraction.turner import Turner

MOST_SUMS = 32
"""Accumulators that a block keeps: a quarter of the register files, or half of them where they are wide."""
MOST_GROUPS = 16
"""Column groups of a block: longer ones would only hold more normalised vectors."""

Four = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Tiles and column groups whose sums are formed together."""

    tiles: Sequence[Tile]
    groups: Sequence[Four]


def blocks(tiles: Sequence[Tile], groups: Sequence[Four], unit: int = 1) -> Iterator[Block]:
    """All pairs of tiles and column groups, in even blocks of at most MOST_SUMS; `unit` groups stay together."""
    height, width = block_shape(len(tiles), len(groups), unit)
    for row in range(0, len(tiles), height):
        for column in range(0, len(groups), width):
            yield Block(tiles[row : row + height], groups[column : column + width])


def block_shape(tiles: int, groups: int, unit: int = 1) -> tuple[int, int]:
    """Tiles and column groups of a block."""
    width = unit * _even(-(-groups // unit), MOST_GROUPS // unit)
    return _even(tiles, MOST_SUMS // width), width


def _even(count: int, most: int) -> int:
    """The size of the fewest equal parts of `count` that are at most `most`."""
    parts = -(-count // most)
    return -(-count // parts)


class Accumulator:
    """Emits the multiplications of one job."""

    def __init__(self, builder: Builder, mode: Mode, stationary: MNValue, streamed: MNValue, loops: Loops) -> None:
        self.builder, self.mode, self.loops = builder, mode, loops
        self.stationary, self.streamed = stationary, streamed
        self.registers = cycle("xy")
        self.turner = Turner(builder, mode, self.registers)
        self.unit = mode.writes if loops.offsets[1] else 1

    def run(self, sink: Sink) -> None:
        """All products, delivered block by block."""
        columns = self.loops.columns
        turned = self.loops.offsets[1] is not None
        groups = [columns[n : n + 4] for n in range(0, len(columns), 4)] if turned else sink.fours(columns)
        for batch in self.loops.batches:
            for block in blocks(self.loops.tiles, groups, self.unit):
                self._block(batch, block, sink)
        sink.finish()

    def _block(self, batch: Batch, block: Block, sink: Sink) -> None:
        sums: dict[tuple[int, int], Virtual] = {}
        passes = [(chunk, word) for chunk in self.loops.chunks for word in self.mode.words]
        for number, (chunk, word) in enumerate(passes):
            vectors = self._vectors(batch, chunk, word, block.groups)
            for t, tile in enumerate(block.tiles):
                register = self._load(batch, chunk, word, tile)
                for g, vector in enumerate(vectors):
                    last = self._halfway(register, vector, sums.get((t, g)))
                    if number + 1 < len(passes):
                        sums[t, g] = last.emit(None)
                    else:
                        spots = [batch.spot + tile.spot + column.spot for column in block.groups[g]]
                        sink.take(spots, last.emit)

    def _vectors(self, batch: Batch, chunk: Chunk, word: int | None, groups: Sequence[Four]) -> list[Virtual]:
        """Normalised vectors of the streamed operand, four for each group."""
        start = (self.streamed.address or 0) + batch.streamed + chunk.streamed
        offsets = self.loops.offsets[1]
        if offsets is not None:
            tiles = [start + group[0].address for group in groups[:: self.unit]]
            return [v for tile in tiles for v in self.turner.rows(self.streamed, tile, offsets, word)]
        fours = [tuple(start + column.address for column in group) for group in groups]
        return [self._normalised(self.streamed, four, word) for four in fours]

    def _load(self, batch: Batch, chunk: Chunk, word: int | None, tile: Tile) -> str:
        """Normalise a tile into the next matrix register; returns the register."""
        start = (self.stationary.address or 0) + batch.stationary + chunk.stationary
        offsets = self.loops.offsets[0]
        turned = self.turner.rows(self.stationary, start + tile.rows[0], offsets, word) if offsets else []
        register = f"$l{next(self.registers)}"
        for row in range(0, self.mode.rows, 4):
            four = tuple(start + address for address in tile.rows[row : row + 4])
            value = turned[row // 4] if turned else self._normalised(self.stationary, four, word)
            self.builder.op(self.mode.write, value, to=f"{register}{row}")
        return register

    def _normalised(self, value: MNValue, addresses: tuple[int, ...], word: int | None) -> Virtual:
        a, b, c, d = addresses
        return self.builder.op(self.mode.normalise, reads(value.location, (a, b, c, d), self.mode, word))

    def _halfway(self, register: str, vector: Virtual, total: Virtual | None) -> _Last:
        """All operations of a product but the last one, which may have a destination."""
        names = self.mode.mul if total is None else self.mode.fma
        for name in names[:-1]:
            total = self.builder.op(name, register, vector, *([] if total is None else [total]))
        return _Last(self.builder, names[-1], register, vector, total)


@dataclass(frozen=True, slots=True)
class _Last:
    builder: Builder
    name: str
    register: str
    vector: Virtual
    total: Virtual | None

    def emit(self, to: Operand | None) -> Virtual:
        """Emit the last operation of a product."""
        terms = [] if self.total is None else [self.total]
        return self.builder.op(self.name, self.register, self.vector, *terms, to=to)
